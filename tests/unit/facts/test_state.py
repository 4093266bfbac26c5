"""Two entries with one id: what either side added counts, and no statement is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from recollect.facts.record import NO_SUCCESSOR, Fact
from recollect.facts.state import merged, renamed

ID, NEXT, THIRD = "f-06e5p3v8m1q0x", "f-06e5p3v8m1q0y", "f-06e5p3v8m1q0z"
FACT = Fact(ID, "Ada prefers dark mode", created=datetime(2026, 2, 1, tzinfo=UTC))
MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


def test_details_of_either_side_count() -> None:
    one = replace(FACT, entity="Ada", tags=("ui",))
    other = replace(FACT, key="theme", tags=("night", "ui"), supersedes=(NEXT,))
    expected = replace(FACT, entity="Ada", key="theme", tags=("ui", "night"), supersedes=(NEXT,))

    assert (expected, ()) == merged(one, other)


def test_a_superseded_side_wins_whichever_comes_first() -> None:
    ended = replace(FACT, superseded_by=NEXT, valid_until=MAY)

    assert (ended, ()) == merged(FACT, ended)
    assert (ended, ()) == merged(ended, FACT)


def test_of_two_successors_the_first_stays_and_the_sooner_end_counts() -> None:
    one = replace(FACT, superseded_by=NEXT, valid_until=JUNE)
    other = replace(FACT, superseded_by=THIRD, valid_until=MAY)

    assert (replace(one, valid_until=MAY), ()) == merged(one, other)


def test_a_successor_counts_more_than_a_withdrawal() -> None:
    withdrawn, ended = replace(FACT, superseded_by=NO_SUCCESSOR), replace(FACT, superseded_by=NEXT)

    assert (ended, ()) == merged(withdrawn, ended)
    assert (ended, ()) == merged(ended, withdrawn)


def test_values_that_cannot_both_count_are_named() -> None:
    one, other = replace(FACT, value="dark", expires=MAY), replace(FACT, value="dim", expires=JUNE)

    assert (one, ("value", "expires")) == merged(one, other)


def test_an_end_before_the_beginning_is_not_taken() -> None:
    one, other = replace(FACT, valid_from=JUNE), replace(FACT, valid_until=MAY)

    assert (one, ("valid_until",)) == merged(one, other)


def test_a_renamed_statement_keeps_its_id_from_one_reading_to_the_next() -> None:
    assert renamed(FACT) == renamed(FACT) != FACT
    assert renamed(FACT).id != renamed(replace(FACT, text="other")).id
