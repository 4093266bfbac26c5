"""How well one ranking answered one question: hit, recall, all, MRR and nDCG.

The units are the expected places. A place is found by the first hit that overlaps it, and counts
once, there; one hit may find several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.evaluate.case import Expected
    from recollect.types import Hit

DEPTH = 10
"""How far down MRR and nDCG look."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What one answer is worth, each from 0 to 1."""

    hit: float
    """1 when any expected place is among the first k hits."""
    recall: float
    """Part of the expected places among the first k hits."""
    all: float
    """1 when every expected place is among the first k hits."""
    mrr: float
    """1 divided by the rank of the first hit that finds a place; 0 below rank 10."""
    ndcg: float
    """Gain over the gain of the best order, each discounted by rank, to rank 10."""


MARKS = ("hit", "recall", "all", "mrr", "ndcg")


def ranks_of(expected: Sequence[Expected], hits: Sequence[Hit]) -> tuple[int | None, ...]:
    """Return for each expected place the 1-based rank of the first hit that overlaps it."""
    return tuple(
        next((rank for rank, hit in enumerate(hits, start=1) if _overlap(place, hit)), None)
        for place in expected
    )


def marks_of(expected: Sequence[Expected], ranks: Sequence[int | None], *, k: int) -> Marks:
    """Return the marks of an answer to a question that has at least one expected place."""
    found = [rank for rank in ranks if rank is not None]
    within_k = sum(rank <= k for rank in found)
    first = min(found, default=DEPTH + 1)
    return Marks(
        hit=float(within_k > 0),
        recall=within_k / len(expected),
        all=float(within_k == len(expected)),
        mrr=1 / first if first <= DEPTH else 0.0,
        ndcg=_ndcg([place.grade for place in expected], ranks),
    )


def _ndcg(grades: Sequence[int], ranks: Sequence[int | None]) -> float:
    """Return DCG / ideal DCG (Järvelin and Kekäläinen 2002), the gain being the grade, to rank 10.

    The ideal has one place a rank. A hit that covers two places can beat it: that is 1, too.
    """
    reached = sum(
        _discounted(grade, rank)
        for grade, rank in zip(grades, ranks, strict=True)
        if rank is not None and rank <= DEPTH
    )
    best_first = sorted(grades, reverse=True)[:DEPTH]
    ideal = sum(_discounted(grade, rank) for rank, grade in enumerate(best_first, start=1))
    return min(reached / ideal, 1.0)


def _discounted(grade: int, rank: int) -> float:
    return grade / math.log2(rank + 1)


def _overlap(place: Expected, hit: Hit) -> bool:
    if place.path != hit.path:
        return False
    if place.first_line is None or place.last_line is None:
        return True
    return hit.start_line <= place.last_line and place.first_line <= hit.end_line
