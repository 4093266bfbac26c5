"""The weighted blend that OpenClaw users know: vectorWeight·cosine + textWeight·text.

A leg that did not run drops out and the weights renormalise. The floor is for the cosine: a text
score may be a mere rank, so every chunk that shares a word with the question is kept, whether or
not the vector leg ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.scores import KEYWORD, VECTOR, Fused, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.search.options import FusionOptions
    from recollect.search.scores import Floats, LegScores
    from recollect.types import Leg

COSINE_FLOOR = 0.35
_SIGMOID_MIDDLE = 2.0


def by_rank(leg: LegScores) -> Floats:
    """Return 1/(1 + r), r counting from 0: only the order matters."""
    return 1.0 / np.maximum(leg.ranks, 1)


def by_sigmoid(leg: LegScores) -> Floats:
    """Return 1/(1 + e^(2 - bm25)): about 0.18 for a weak match, 0.998 for an excellent one."""
    return 1.0 / (1.0 + np.exp(_SIGMOID_MIDDLE - leg.raw))


def by_minmax(leg: LegScores) -> Floats:
    """Return the position between the worst and the best match of this result set."""
    matched = leg.raw[leg.present]
    spread = matched.max() - matched.min() if len(matched) else 0.0
    if not spread:
        return np.ones_like(leg.raw)
    scaled: Floats = (leg.raw - matched.min()) / spread
    return scaled


def by_saturation(leg: LegScores) -> Floats:
    """Return b/(1 + b): absolute, slow to reach 1."""
    return leg.raw / (1.0 + leg.raw)


NORMALISERS: dict[str, Callable[[LegScores], Floats]] = {
    "rank": by_rank,
    "sigmoid": by_sigmoid,
    "minmax": by_minmax,
    "saturating": by_saturation,
}


def weighted(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return the weighted sum of cosine and normalised text score."""
    share_of = shares(legs, options=options)
    legs = {name: legs[name] for name in share_of}
    normalised = {
        name: np.where(
            leg.present,
            np.clip(leg.raw, 0.0, 1.0)
            if name == VECTOR
            else NORMALISERS[options.text_normaliser](leg),
            0.0,
        )
        for name, leg in legs.items()
    }
    contributions = {name: share_of[name] * own for name, own in normalised.items()}
    scores = np.sum(list(contributions.values()), axis=0)
    floors = {KEYWORD: 0.0, VECTOR: COSINE_FLOOR}
    kept = [(contributions[name] > 0) & (own >= floors[name]) for name, own in normalised.items()]
    return Fused(
        scores=scores,
        normalised=normalised,
        contributions=contributions,
        eligible=np.any(kept, axis=0),
    )
