"""The marks of one answer, with their arithmetic."""

from __future__ import annotations

import math

import pytest

from recollect.evaluate.cases import Expected
from recollect.evaluate.metrics import Marks, marks_of, ranks_of
from recollect.types import Hit, SourceKind


def hit(path: str, first: int = 1, last: int = 10) -> Hit:
    return Hit(
        path=path,
        start_line=first,
        end_line=last,
        score=0.5,
        vector_score=None,
        text_score=None,
        snippet="",
        source=SourceKind.MEMORY,
        citation=f"{path}#L{first}-L{last}",
        heading=(),
        date=None,
    )


def marks(expected: list[Expected], hits: list[Hit], *, k: int = 6) -> Marks:
    return marks_of(expected, ranks_of(expected, hits), k=k)


def test_a_place_is_found_by_the_first_hit_that_shares_a_line_with_it() -> None:
    hits = [hit("a.md", 1, 4), hit("b.md"), hit("a.md", 5, 9), hit("a.md", 9, 12)]

    places = [
        Expected("a.md"),
        Expected("a.md", (4, 5)),
        Expected("a.md", (9, 9)),
        Expected("a.md", (13, 20)),
        Expected("c.md"),
    ]

    assert (1, 1, 3, None, None) == ranks_of(places, hits)


def test_the_only_place_first_is_perfect() -> None:
    assert Marks(1.0, 1.0, 1.0, 1.0, 1.0) == marks([Expected("a.md")], [hit("a.md"), hit("b.md")])


def test_nothing_found_is_zero() -> None:
    assert Marks(0.0, 0.0, 0.0, 0.0, 0.0) == marks([Expected("a.md")], [hit("b.md")])
    assert Marks(0.0, 0.0, 0.0, 0.0, 0.0) == marks([Expected("a.md")], [])


def test_one_of_two_places_at_rank_two() -> None:
    found = marks([Expected("a.md"), Expected("z.md")], [hit("b.md"), hit("a.md")])

    assert (1.0, 1 / 2, 0.0, 1 / 2) == (found.hit, found.recall, found.all, found.mrr)
    gain = 1 / math.log2(3)
    ideal = 1 / math.log2(2) + 1 / math.log2(3)
    assert gain / ideal == pytest.approx(found.ndcg)
    assert 0.3869 == pytest.approx(found.ndcg, abs=1e-4)


def test_hit_recall_and_all_look_at_k_while_mrr_and_ndcg_look_at_ten() -> None:
    hits = [hit(f"{letter}.md") for letter in "bcdefgha"]

    found = marks([Expected("a.md")], hits, k=6)

    assert (0.0, 0.0, 0.0) == (found.hit, found.recall, found.all)
    assert (1 / 8, 1 / math.log2(9)) == pytest.approx((found.mrr, found.ndcg))
    assert 1.0 == marks([Expected("a.md")], hits, k=8).hit


def test_beyond_rank_ten_mrr_and_ndcg_see_nothing() -> None:
    hits = [*(hit(f"{number}.md") for number in range(10)), hit("a.md")]

    found = marks([Expected("a.md")], hits, k=20)

    assert (1.0, 0.0, 0.0) == (found.hit, found.mrr, found.ndcg)


def test_a_better_answer_gains_its_grade() -> None:
    places = [Expected("good.md", grade=2), Expected("fair.md", grade=1)]

    found = marks(places, [hit("fair.md"), hit("good.md")])

    gain = 1 / math.log2(2) + 2 / math.log2(3)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert gain / ideal == pytest.approx(found.ndcg)
    assert 1.0 == marks(places, [hit("good.md"), hit("fair.md")]).ndcg


def test_a_place_counts_once_however_many_hits_overlap_it() -> None:
    twice = [hit("a.md", 1, 4), hit("a.md", 5, 9), hit("b.md")]

    found = marks([Expected("a.md"), Expected("b.md")], twice)

    gain = 1 / math.log2(2) + 1 / math.log2(4)
    assert gain / (1 / math.log2(2) + 1 / math.log2(3)) == pytest.approx(found.ndcg)


def test_one_hit_over_two_places_is_perfect_and_not_more() -> None:
    found = marks([Expected("a.md", (1, 2)), Expected("a.md", (5, 6))], [hit("a.md", 1, 9)])

    assert Marks(1.0, 1.0, 1.0, 1.0, 1.0) == found


def test_the_ideal_of_more_than_ten_places_ends_at_rank_ten() -> None:
    names = [f"{number}.md" for number in range(12)]

    found = marks([Expected(name) for name in names], [hit(name) for name in names[:10]], k=10)

    assert (10 / 12, 0.0, 1.0) == pytest.approx((found.recall, found.all, found.ndcg))
