from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from recollect.errors import UsageError
from recollect.facts.record import (
    RANDOM_BITS,
    DecayClass,
    Fact,
    category_of,
    classify_decay,
    derive_id,
    expiry,
    extracted_category,
    is_id,
    mint_id,
    moment_of,
    moment_text,
    next_id,
    normalised_digest,
    parse_id,
)
from recollect.facts.scope import audience_of, is_visible, parse_scope
from recollect.text.scripts import normalised
from recollect.types import GLOBAL

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
FACT = Fact(id=mint_id(NOW, random_bits=1), text="Ada prefers dark mode")
ADA, BOB = "user:ada", "user:bob"


def test_ids_sort_by_age_whatever_chance_says() -> None:
    moments = [NOW + timedelta(milliseconds=step) for step in (0, 1, 1000, 10**9, 10**12)]
    ids = [
        mint_id(moment, random_bits=2**RANDOM_BITS - step) for step, moment in enumerate(moments)
    ]

    assert sorted(ids) == ids
    assert all(map(is_id, ids))


def test_ids_of_one_moment_differ_by_chance() -> None:
    assert 100 == len({mint_id(NOW, random_bits=chance) for chance in range(100)})


def test_the_id_of_a_plain_bullet_is_that_of_its_words() -> None:
    assert derive_id("Dark  mode.") == derive_id("dark mode")
    assert derive_id("dark mode") != derive_id("light mode")
    assert derive_id("dark mode") != derive_id("dark mode", ordinal=1)


def test_the_following_id_is_the_next_in_order() -> None:
    assert mint_id(NOW, random_bits=8) == next_id(mint_id(NOW, random_bits=7))
    assert "f-0000000000000" == next_id("f-zzzzzzzzzzzzz")


def test_a_typed_id_may_be_upper_case_have_look_alikes_or_lack_its_beginning() -> None:
    assert "f-0123456789abc" == parse_id(" F-Oi23456789ABC ")
    assert "f-0123456789abc" == parse_id("0123456789abc")
    with pytest.raises(UsageError, match="not the id of a fact"):
        parse_id("f-123")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Dark\u00a0 MODE!! ", "dark mode"),
        ("Straße", "strasse"),
        ("ＦＵＬＬ width。", "full width"),
        ("a.b", "a.b"),
        ("...", ""),
    ],
)
def test_normalised_texts_say_the_same_in_the_same_words(text: str, expected: str) -> None:
    assert expected == normalised(text)
    assert normalised_digest(expected) == normalised_digest(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "f-1"}, "id"),
        ({"text": " \n"}, "no text"),
        ({"category": "../etc"}, "category"),
        ({"confidence": 1.5}, "confidence"),
        ({"scope": "user:"}, "scope"),
        ({"scope": "User:ada"}, "scope"),
        ({"confidence": float("nan")}, "confidence"),
        ({"tags": ("a b",)}, "tags"),
        ({"tags": ("A",)}, "tags"),
        ({"tags": ("a", "a")}, "tags"),
        ({"supersedes": ("x",)}, "supersedes"),
        ({"supersedes": (FACT.id,)}, "supersedes"),
        ({"superseded_by": FACT.id}, "superseded by"),
        ({"superseded_by": "nobody"}, "superseded by"),
        ({"created": datetime(2026, 2, 1)}, "UTC"),  # noqa: DTZ001 - the wrong kind on purpose
        ({"created": datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=1)))}, "UTC"),
        ({"valid_from": NOW, "valid_until": NOW - timedelta(1)}, "before it begins"),
    ],
)
def test_what_is_no_fact_cannot_be_made(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(FACT, **change)  # type: ignore[arg-type]  # wrong values on purpose


def test_a_fact_holds_from_when_it_was_stored_unless_it_says_otherwise() -> None:
    assert FACT.begins is None
    assert replace(FACT, created=NOW).begins == NOW
    assert replace(FACT, created=NOW, valid_from=NOW - timedelta(9)).begins == NOW - timedelta(9)


def test_an_unknown_category_is_refused_with_the_nearest_one() -> None:
    assert "preference" == category_of(" Preference ")
    with pytest.raises(UsageError) as refused:
        category_of("preferance")

    assert refused.value.action.startswith("Did you mean preference? Choose one of preference, ")


def test_what_a_model_calls_a_category_is_one_or_becomes_technical() -> None:
    assert "person" == extracted_category("Person")
    assert "technical" == extracted_category("gizmo")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-01", "2026-02-01"),
        ("2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z"),
        ("2026-02-01T10:00", "2026-02-01T10:00:00Z"),
        ("2026-02-01T01:00:00+02:00", "2026-01-31T23:00:00Z"),
    ],
)
def test_moments_are_read_in_utc_and_written_short(text: str, expected: str) -> None:
    assert expected == moment_text(moment_of(text))


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "0001-01-01T00:00:00+10:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        moment_of(text)


@pytest.mark.parametrize("text", ["global", "user:ada", "agent:main", "session:agent:main:tg:1"])
def test_a_scope_is_read_back_as_written(text: str) -> None:
    assert text == parse_scope(text)


@pytest.mark.parametrize(
    "text",
    ["", "user", "user:", "global:", "global:x", "team:x", "user:a b", "user:a,b", "user:\0"],
)
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a scope"):
        parse_scope(text)


def test_global_facts_are_visible_to_all_and_other_facts_only_to_their_scope() -> None:
    assert is_visible(GLOBAL, scopes=frozenset())
    assert is_visible(ADA, scopes=frozenset({ADA}))
    assert not is_visible(BOB, scopes=frozenset({ADA}))
    assert is_visible(BOB, scopes=None)


def test_asking_for_more_than_the_server_holds_gives_no_more() -> None:
    ada = frozenset({"user:ada"})

    assert {"global", "user:ada"} == audience_of(["user:ada", "user:bob"], allowed=ada)
    assert {"global"} == audience_of(["user:bob"], allowed=ada)
    assert {"global"} == audience_of([], allowed=ada)
    assert {"global", "user:bob"} == audience_of(["user:bob"], allowed=None)


@pytest.mark.parametrize("field", ["text", "entity", "key", "value", "source"])
def test_a_fact_with_half_a_character_is_refused(field: str) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        replace(FACT, **{field: "caf\udce9"})  # type: ignore[arg-type]  # each is a text


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
    assert not FACT.is_expired(NOW)


def test_a_fact_expires_at_its_moment_not_after_it() -> None:
    fact = replace(FACT, expires=NOW)

    assert fact.is_expired(NOW)
    assert not fact.is_expired(NOW - timedelta(microseconds=1))
