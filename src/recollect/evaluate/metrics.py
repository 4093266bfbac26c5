"""Metrics of one answer, and how far a mean over many answers can be trusted.

A place is found by the first hit that overlaps it; one hit may find several. Means come with
percentile intervals of resampled means (Efron 1979). Two ways of searching are compared per
question: that paired interval is much narrower than the two separate ones suggest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.evaluate.cases import Expected
    from recollect.types import Hit, Repeat

DEPTH = 10
"""The last rank that MRR and nDCG count."""
RESAMPLES = 2000
TAIL_PERCENT = 2.5  # cut off at either end: a 95 % interval
FEW = 20  # with fewer values a percentile interval is clearly too narrow
SEED = 20260201  # any number; fixed, so that the same answers give the same interval


@dataclass(frozen=True, slots=True)
class Marks:
    """The metrics of one answer, each from 0 to 1."""

    hit: float
    """1 if any expected place is among the first k hits."""
    recall: float
    """Share of the expected places among the first k hits."""
    all: float
    """1 if every expected place is among the first k hits."""
    mrr: float
    """1 divided by the rank of the first hit that finds a place; 0 below rank 10."""
    ndcg: float
    """Discounted gain to rank 10, divided by that of the best possible order."""


MARKS = ("hit", "recall", "all", "mrr", "ndcg")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds that contain 95 of 100 resampled means."""

    mean: float
    low: float
    high: float


def ranks_of(expected: Sequence[Expected], hits: Sequence[Hit]) -> tuple[int | None, ...]:
    """Return the 1-based rank of the first hit, or a copy with it, that overlaps each place."""
    ranked: list[tuple[int, tuple[Hit | Repeat, ...]]] = [
        (rank, (hit, *hit.also_in)) for rank, hit in enumerate(hits, start=1)
    ]
    return tuple(
        next((rank for rank, said in ranked if any(_overlap(place, each) for each in said)), None)
        for place in expected
    )


def marks_of(expected: Sequence[Expected], ranks: Sequence[int | None], *, k: int) -> Marks:
    """Return the metrics of an answer to a question with at least one expected place."""
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
    """Return DCG / ideal DCG (Järvelin and Kekäläinen 2002) to rank 10, with grades as gains.

    The ideal order has one place per rank. A hit that covers two places can beat it; that gives 1.
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


def _overlap(place: Expected, hit: Hit | Repeat) -> bool:
    if place.path != hit.path:
        return False
    if place.lines is None:
        return True
    first, last = place.lines
    return hit.start_line <= last and first <= hit.end_line


def mean_interval(values: Sequence[float], *, seed: int = SEED) -> Interval:
    """Return the mean of at least one value with its 95 % interval."""
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[drawn].mean(axis=1), [TAIL_PERCENT, 100 - TAIL_PERCENT])
    return Interval(float(sample.mean()), float(low), float(high))


def difference_interval(values: Sequence[float], others: Sequence[float]) -> Interval:
    """Return the mean of values - others, pair by pair, with its 95 % interval."""
    return mean_interval(np.subtract(values, others).tolist())


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return the probability that one of `higher` exceeds one of `lower`; a tie counts half."""
    if not higher or not lower:
        return None
    differences = np.subtract.outer(np.asarray(higher), np.asarray(lower))
    return float((differences > 0).mean() + (differences == 0).mean() / 2)
