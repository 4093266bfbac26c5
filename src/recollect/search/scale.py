"""The scale of scores: 1 − e^(−rate·evidence), and above it a narrow band for exact matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RATE = 3.0
"""Puts a score of about one half where the best hits of unrelated questions end."""
LIFTED = 0.995
"""Exact hits score at least this, all others at most."""


def score_of(evidence: Floats) -> Floats:
    """Return 0 without evidence, and never quite 1."""
    scores: Floats = -np.expm1(-RATE * evidence)
    return scores


def evidence_of(scores: Floats) -> Floats:
    """Return the evidence behind scores; that of exact matches is equal."""
    evidence: Floats = -np.log1p(-np.minimum(scores, LIFTED)) / RATE
    return evidence


def lift(scores: Floats, tiers: npt.NDArray[np.int64]) -> Floats:
    """Return scores that put exact hits above all others, by tier, then by score."""
    highest = int(tiers.max(initial=0))
    if not highest:
        return scores
    step = (1.0 - LIFTED) / highest
    lifted = LIFTED + (tiers - 1 + scores) * step
    return np.where(tiers > 0, lifted, np.minimum(scores, LIFTED))


def ceilings_of(factors: Floats, *, is_exact: npt.NDArray[np.bool_]) -> Floats:
    """Return how high scores may rise: below exact matches, and less for old chunks."""
    return factors * (LIFTED if is_exact.any() else 1.0)


def raised(scores: Floats, *, evidence: Floats, ceilings: Floats) -> Floats:
    """Return score + (ceiling − score)·(1 − e^(−rate·evidence)): nothing falls, order holds.

    With a ceiling of 1 this is the score of all evidence together.
    """
    return scores + (ceilings - scores) * score_of(evidence)
