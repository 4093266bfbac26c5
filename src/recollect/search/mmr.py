"""Diversity (MMR): each next hit should be relevant and unlike the hits above it.

Carbonell and Goldstein, "The Use of MMR" (1998): λ·relevance − (1−λ)·max similarity to the chosen,
with relevance min-max normalised and similarity the Jaccard overlap of terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def mmr(
    scores: Sequence[float], *, terms: Sequence[frozenset[str]], balance: float
) -> dict[int, float]:
    """Return the places of the input in their new order, each with its similarity to those before.

    Ties keep the old order.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    spread = high - low
    relevance = [(score - low) / spread if spread else 1.0 for score in scores]
    nearest = [0.0] * len(scores)
    left = list(range(len(scores)))
    picks: dict[int, float] = {}
    while left:
        best = max(
            left,
            key=lambda place: (
                balance * relevance[place] - (1 - balance) * nearest[place],
                -place,
            ),
        )
        left.remove(best)
        picks[best] = nearest[best]
        for place in left:
            nearest[place] = max(nearest[place], jaccard(terms[place], terms[best]))
    return picks


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the overlap of two sets of terms: 1 for equal sets, also for two empty ones."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)
