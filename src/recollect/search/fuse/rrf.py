"""Reciprocal rank fusion: ranks only, so legs of any scale can meet.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods" (2009): Σ weight/(k + rank), divided by its value for rank 1 in every leg,
so that scores are 0…1. A score is a rank, not a confidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.scores import Fused, shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.options import FusionOptions
    from recollect.search.scores import LegScores
    from recollect.types import Leg


def rrf(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return Σ weight/(k + rank) over the legs that ran, divided by its maximum."""
    share_of = shares(legs, options=options)
    legs = {name: legs[name] for name in share_of}
    first = options.rrf_k + 1
    contributions = {
        name: np.where(leg.present, share_of[name] * first / (options.rrf_k + leg.ranks), 0.0)
        for name, leg in legs.items()
    }
    scores = np.sum(list(contributions.values()), axis=0)
    return Fused(
        scores=scores,
        normalised={
            name: np.where(leg.present, 1.0 / np.maximum(leg.ranks, 1), 0.0)
            for name, leg in legs.items()
        },
        contributions=contributions,
        eligible=scores > 0,
    )
