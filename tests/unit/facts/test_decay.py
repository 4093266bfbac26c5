from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recollect.facts.decay import (
    DecayClass,
    Pruned,
    PruneReason,
    classify_decay,
    expiry,
    faded_confidence,
    is_expired,
    prune_plan,
)
from recollect.facts.record import Fact

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
FACT = Fact(id="f-0000000000000", text="The cache lives in Redis")


@pytest.mark.parametrize(
    ("text", "entity", "key", "expected"),
    [
        ("x", "", "user_name", "permanent"),
        ("x", "", "EMAIL", "permanent"),
        ("x", "", "api_key", "permanent"),
        ("x", "", "birthday", "permanent"),
        ("We decided on Postgres", "", "", "permanent"),
        ("Always use tabs", "", "", "permanent"),
        ("never use eval", "", "", "permanent"),
        ("x", "Convention", "", "permanent"),
        ("x", "decision", "todo", "permanent"),
        ("x", "", "current_file", "session"),
        ("x", "", "debug_level", "session"),
        ("currently debugging the parser", "", "", "session"),
        ("I need to do it right now", "", "", "session"),
        ("x", "", "task", "active"),
        ("x", "", "git_branch", "active"),
        ("Ada is working on the parser", "", "", "active"),
        ("a blocker for the sprint", "", "", "active"),
        ("x", "", "task_checkpoint", "session"),
        ("x", "", "preflight", "session"),
        ("x", "", "checkpoint_3", "session"),
        ("undecided sprinters", "", "", "stable"),
        ("The cache lives in Redis", "cache", "backend", "stable"),
    ],
)
def test_the_first_words_that_fit_decide_the_class(
    text: str, entity: str, key: str, expected: str
) -> None:
    assert expected == classify_decay(text, entity=entity, key=key)


@pytest.mark.parametrize(
    ("decay", "hours"),
    [
        ("stable", 90 * 24),
        ("active", 14 * 24),
        ("session", 24),
    ],
)
def test_a_class_gives_a_lifetime(decay: str, hours: int) -> None:
    assert NOW + timedelta(hours=hours) == expiry(DecayClass(decay), since=NOW)


def test_what_is_permanent_never_ends() -> None:
    assert expiry(DecayClass.PERMANENT, since=NOW) is None
    assert not is_expired(FACT, now=NOW)


def test_a_fact_expires_at_its_moment_not_after_it() -> None:
    fact = replace(FACT, expires=NOW)

    assert is_expired(fact, now=NOW)
    assert not is_expired(fact, now=NOW - timedelta(microseconds=1))


def test_confidence_halves_once_in_the_last_quarter_of_a_life() -> None:
    fact = replace(FACT, decay=DecayClass.ACTIVE, confidence=0.8, expires=NOW + timedelta(days=14))

    # A quarter of 14 days is 3.5.
    assert 0.8 == faded_confidence(fact, now=NOW + timedelta(days=10.5))
    assert 0.4 == faded_confidence(fact, now=NOW + timedelta(days=10.6))
    assert 0.4 == faded_confidence(fact, now=NOW + timedelta(days=13.9))


def test_pruning_takes_what_expired_or_faded_and_says_why() -> None:
    kept = replace(FACT, decay=DecayClass.STABLE, expires=NOW + timedelta(days=80))
    unlimited = replace(FACT, decay=DecayClass.SESSION, confidence=0.01)
    expired = replace(kept, expires=NOW - timedelta(days=1))
    faded = replace(kept, expires=NOW + timedelta(days=1), confidence=0.15)

    plan = prune_plan([kept, unlimited, expired, faded], now=NOW)

    assert (Pruned(expired, PruneReason.EXPIRED), Pruned(faded, PruneReason.FADED)) == plan
