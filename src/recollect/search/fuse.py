"""Turns the numbers of several legs into one score per chunk, by one of three formulas.

`calibrated`, the default, turns each leg's number into evidence on an absolute scale, which adds
up. Chosen by measurement: docs/decisions/ranking.md.

`weighted` is OpenClaw's blend: vectorWeight·cosine + textWeight·text. A leg that did not run drops
out and the weights renormalise. The floor is for the cosine: a text score may be a mere rank, so
every chunk that shares a word with the question is kept.

`rrf` uses ranks only. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
and individual Rank Learning Methods" (2009): Σ weight/(k + rank), divided by its value for rank 1
in every leg, so that scores are 0…1. A score is a rank, not a confidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.scores import KEYWORD, VECTOR, Fused, evidence_of_legs, score_of, shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.search.options import FusionOptions
    from recollect.search.scores import Floats, LegScores
    from recollect.types import Leg

FLOOR = 0.02
"""The least score that is shown; drops under one percent of the relevant hits."""
FLOOR_BY_WORDS = 0.03
"""Least score shown where the words were compared, which adds evidence to all."""


def calibrated(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return the score of the evidence of all legs that ran together."""
    del options  # it has no weights
    evidence = evidence_of_legs(legs)
    total = np.sum(list(evidence.values()), axis=0)
    scores = score_of(total)
    shares = scores / np.where(total > 0, total, 1.0)
    by_words = any(leg.compares_words for leg in legs.values())
    return Fused(
        scores=scores,
        normalised=evidence,
        contributions={name: own * shares for name, own in evidence.items()},
        eligible=scores >= (FLOOR_BY_WORDS if by_words else FLOOR),
    )


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


NORMALISERS: dict[str, Callable[[LegScores], Floats]] = {
    "rank": by_rank,
    "sigmoid": by_sigmoid,
    "minmax": by_minmax,
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


K = 60
"""The constant of the paper; a higher one makes the first ranks stand out less."""


def rrf(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return Σ weight/(k + rank) over the legs that ran, divided by its maximum."""
    share_of = shares(legs, options=options)
    legs = {name: legs[name] for name in share_of}
    contributions = {
        name: np.where(leg.present, share_of[name] * (K + 1) / (K + leg.ranks), 0.0)
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


FUSIONS = {"calibrated": calibrated, "weighted": weighted, "rrf": rrf}


def fuse(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return one score per chunk from all legs that ran; none if no leg ran."""
    if not legs:
        return Fused(np.zeros(0), {}, {}, np.zeros(0, dtype=np.bool_))
    return FUSIONS[options.fusion](legs, options=options)
