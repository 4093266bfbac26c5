"""Diversity."""

from __future__ import annotations

import pytest

from recollect.search.select import jaccard, mmr

ML = frozenset({"machine", "learning", "models"})
DB = frozenset({"database", "sql", "index"})


def places(scores: list[float], sets: list[frozenset[str]], balance: float) -> list[int]:
    return list(mmr(scores, words=sets, balance=balance))


def test_lambda_one_keeps_the_order() -> None:
    assert [0, 1, 2, 3] == places([1.0, 0.9, 0.8, 0.7], [ML, ML, DB, ML], 1.0)


def test_a_different_text_moves_up_past_a_repetition() -> None:
    assert [0, 2, 1, 3] == places([1.0, 0.9, 0.8, 0.7], [ML, ML, DB, ML], 0.5)


def test_every_input_comes_back_once() -> None:
    assert [0, 1, 2] == sorted(places([0.2, 0.2, 0.2], [ML, DB, frozenset()], 0.0))


def test_nothing_in_nothing_out() -> None:
    assert {} == mmr([], words=[], balance=0.7)


@pytest.mark.parametrize(
    ("left", "right", "overlap"),
    [
        (frozenset("ab"), frozenset("ab"), 1.0),
        (frozenset("abc"), frozenset("bcd"), 0.5),
        (frozenset("a"), frozenset("b"), 0.0),
        (frozenset(), frozenset(), 1.0),
        (frozenset("a"), frozenset(), 0.0),
    ],
)
def test_jaccard_is_shared_over_all(
    left: frozenset[str], right: frozenset[str], overlap: float
) -> None:
    assert overlap == jaccard(left, right)
