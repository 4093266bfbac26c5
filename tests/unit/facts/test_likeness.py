"""Facts in other words: the same claim is recognised, and no other claim is taken for it."""

from __future__ import annotations

import pytest
from tests.unit.facts.fact_pairs import (
    DIFFERENT,
    LATER_DIFFERENT,
    LATER_SAME,
    NEAR_MISSES,
    REWORDED,
    SAME,
    UNSEEN_NEAR_MISSES,
    UNSEEN_REWORDED,
)

from recollect.facts.record import Fact
from recollect.facts.rules import compare

A, B = "f-0000000000001", "f-0000000000002"

PROPOSED_WRONGLY = 2
"""Of `LATER_DIFFERENT`; a person decides."""


def likeness(pair: tuple[str, str]) -> bool | None:
    """Return whether two texts surely say the same; None if they do not seem to."""
    found = compare(Fact(id=A, text=pair[0]), Fact(id=B, text=pair[1]))
    return None if found is None else found.is_sure


@pytest.mark.parametrize("pair", [*DIFFERENT, *NEAR_MISSES, *UNSEEN_NEAR_MISSES], ids=" | ".join)
def test_another_claim_is_not_taken_for_the_same(pair: tuple[str, str]) -> None:
    assert likeness(pair) is None
    assert likeness(pair[::-1]) is None


@pytest.mark.parametrize("pair", LATER_DIFFERENT, ids=" | ".join)
def test_another_claim_is_never_surely_the_same(pair: tuple[str, str]) -> None:
    assert not likeness(pair)


def test_most_rewordings_are_recognised_and_few_other_claims_are() -> None:
    rewordings = [*SAME, *LATER_SAME]

    assert 47 == sum(likeness(pair) is not None for pair in rewordings)
    assert 58 == len(rewordings)
    assert PROPOSED_WRONGLY == sum(likeness(pair) is not None for pair in LATER_DIFFERENT)


def test_words_of_one_meaning_are_recognised() -> None:
    assert 18 == sum(likeness(pair) is not None for pair in REWORDED)
    assert 26 == len(REWORDED)
    assert 8 == sum(likeness(pair) is not None for pair in UNSEEN_REWORDED)
    assert 24 == len(UNSEEN_REWORDED)


def test_details_that_both_have_must_be_equal() -> None:
    one = Fact(id=A, text="The port is 8080", entity="staging", key="port", value="8080")

    assert compare(one, Fact(id=B, text="Its port is 8080")) is not None
    assert compare(one, Fact(id=B, text="The port is 8080", entity="test")) is None


def test_equal_details_are_likely_the_same_whatever_the_words() -> None:
    one = Fact(id=A, text="Logs are kept for 30 days", entity="logs", key="kept", value="30 days")
    other = Fact(id=B, text="Retention: 30 days", entity="logs", key="kept", value="30 days")
    denied = Fact(id=B, text="Not 30 days", entity="logs", key="kept", value="30 days")
    found = compare(one, other)

    assert found is not None
    assert not found.is_sure
    assert compare(one, denied) is None


def test_scopes_are_never_mixed() -> None:
    one = Fact(id=A, text="The port is 8080")

    assert compare(one, Fact(id=B, text="The port is 8080", scope="user:a")) is None
