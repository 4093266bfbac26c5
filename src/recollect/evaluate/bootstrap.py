"""How far a mean can be trusted: percentile intervals of resampled means (Efron 1979).

Two ways of searching are compared on the same questions, so their difference is resampled by
question: the paired interval is much narrower than the two intervals beside each other suggest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

RESAMPLES = 2000
TAIL_PERCENT = 2.5  # left out at either end: a 95 % interval
FEW = 20  # with fewer values a percentile interval is clearly too narrow
SEED = 20260201  # any number; fixed, so that the same answers give the same interval
_DRAWN_AT_ONCE = 2_000_000  # numbers drawn in one go: 16 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds within which 95 of 100 resampled means lie."""

    mean: float
    low: float
    high: float


def mean_interval(values: Sequence[float], *, seed: int = SEED) -> Interval:
    """Return the mean of at least one value with its 95 % interval."""
    sample = np.asarray(values, dtype=np.float64)
    means = _resampled_means(sample, rng=np.random.default_rng(seed))
    low, high = np.percentile(means, [TAIL_PERCENT, 100 - TAIL_PERCENT])
    return Interval(float(sample.mean()), float(low), float(high))


def difference_interval(
    values: Sequence[float], others: Sequence[float], *, seed: int = SEED
) -> Interval:
    """Return the mean of values - others, pair by pair, with its 95 % interval."""
    return mean_interval(np.subtract(values, others).tolist(), seed=seed)


def _resampled_means(
    sample: npt.NDArray[np.float64], *, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    size = len(sample)
    rows = max(1, _DRAWN_AT_ONCE // size)
    blocks = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    return np.concatenate(
        [sample[rng.integers(0, size, size=(block, size))].mean(axis=1) for block in blocks]
    )
