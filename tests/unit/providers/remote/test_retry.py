"""Waiting before asking again: doubling, bounded, never shorter than a server asks for."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.providers.remote.pace import FOR_INDEXING, FOR_QUESTIONS, Patience, wait_seconds

PATIENCES = st.builds(
    Patience,
    attempts=st.integers(1, 20),
    first_seconds=st.floats(0.001, 10),
    longest_seconds=st.floats(0.001, 100),
    total_seconds=st.just(300.0),
)
CHANCES = st.integers().map(random.Random)


class Fixed(random.Random):
    """Chance that always says the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self, *_: Any) -> float:
        return self._value


@pytest.mark.parametrize(
    ("attempt", "expected"), [(1, 0.5), (2, 1.0), (3, 2.0), (7, 32.0), (8, 60.0), (20, 60.0)]
)
def test_each_wait_is_twice_the_one_before_up_to_the_longest(attempt: int, expected: float) -> None:
    # 0.5 s x 2^(attempt - 1), at most 60 s
    wait = wait_seconds(FOR_INDEXING, attempt=attempt, requested=None, chance=Fixed(0.0))

    assert expected == wait


def test_up_to_half_of_a_wait_is_left_to_chance() -> None:
    # 4 s x (1 - 0.5 x 0.5)
    assert 3.0 == wait_seconds(FOR_INDEXING, attempt=4, requested=None, chance=Fixed(0.5))


def test_chance_only_adds_to_what_a_server_asks_for() -> None:
    # 30 s + 0.5 x 0.5 x min(2 s, 30 s)
    assert 30.5 == wait_seconds(FOR_INDEXING, attempt=3, requested=30.0, chance=Fixed(0.5))


def test_a_server_that_asks_for_no_wait_is_backed_off_from_all_the_same() -> None:
    assert 2.0 == wait_seconds(FOR_INDEXING, attempt=3, requested=0.0, chance=Fixed(0.0))


@given(patience=PATIENCES, attempt=st.integers(1, 100), chance=CHANCES)
def test_a_wait_is_between_half_of_and_the_whole_of_the_longest(
    patience: Patience, attempt: int, chance: random.Random
) -> None:
    wait = wait_seconds(patience, attempt=attempt, requested=None, chance=chance)
    least = min(patience.first_seconds, patience.longest_seconds) / 2

    assert least <= wait <= patience.longest_seconds


@given(
    patience=PATIENCES,
    attempt=st.integers(1, 100),
    requested=st.floats(0.001, 1e6),
    chance=CHANCES,
)
def test_a_retry_waits_at_least_as_long_as_the_server_asks(
    patience: Patience, attempt: int, requested: float, chance: random.Random
) -> None:
    wait = wait_seconds(patience, attempt=attempt, requested=requested, chance=chance)

    own = min(patience.first_seconds * 2.0 ** (attempt - 1), patience.longest_seconds)
    assert requested <= wait <= max(1.5 * requested, own)


def test_an_index_run_outlasts_a_limit_per_minute() -> None:
    waits = sum(
        wait_seconds(FOR_INDEXING, attempt=attempt, requested=None, chance=Fixed(0.0))
        for attempt in range(1, FOR_INDEXING.attempts)
    )

    # 0.5 + 1 + 2 + 4 + 8 + 16 + 32
    assert 63.5 == waits
    assert FOR_INDEXING.longest_seconds >= 60


def test_a_question_is_not_waited_for_as_long_as_an_index_run() -> None:
    assert FOR_QUESTIONS.total_seconds < FOR_INDEXING.total_seconds
    assert 1.5 * FOR_QUESTIONS.longest_seconds <= FOR_QUESTIONS.turn_seconds


def test_a_server_that_asks_for_a_second_at_a_time_is_asked_for_half_a_minute() -> None:
    waits = (
        wait_seconds(FOR_INDEXING, attempt=attempt, requested=1.0, chance=Fixed(1.0))
        for attempt in range(1, FOR_INDEXING.attempts)
    )

    assert sum(waits) > 30  # and an index run sends a request up to three times
