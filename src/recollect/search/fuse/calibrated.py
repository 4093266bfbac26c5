"""The default: each leg's number becomes evidence on an absolute scale, and evidence adds up.

Keyword evidence is the part of the query's own information that the chunk carries: bm25 divided
by what a chunk about nothing but the query would score. Vector evidence is how far the cosine
stands out from the background of unrelated texts in this space. Both are probabilities-to-be e in
[0, 1); the score is 1 − Π(1 − e), so evidence −ln(1 − e) is additive: a silent leg adds nothing and
takes nothing away, and a score means the same whatever the query, the corpus or the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.fuse.base import KEYWORD, VECTOR, Fused, FusionOptions, LegScores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.fuse.base import Floats

DEFAULT_FLOOR = 0.05
CONFIDENT = 0.5
MIDDLE_DEVIATIONS = 3.0
"""A cosine this many deviations above the background is as likely a find as not."""
STEEPNESS = 1.0
MOST = 0.95
"""No single leg is ever certain."""


def calibrated(legs: Mapping[str, LegScores], *, options: FusionOptions) -> Fused:
    """Return 1 − Π(1 − evidence) over the legs that ran."""
    evidence = {
        name: np.where(leg.present, _EVIDENCE[name](leg), 0.0) for name, leg in legs.items()
    }
    amounts = {name: -np.log1p(-own) for name, own in evidence.items()}
    total = np.sum(list(amounts.values()), axis=0)
    scores = -np.expm1(-total)
    shares = scores / np.where(total > 0, total, 1.0)
    floor = DEFAULT_FLOOR if options.min_score is None else options.min_score
    return Fused(
        scores=scores,
        normalised=evidence,
        contributions={name: amount * shares for name, amount in amounts.items()},
        eligible=(scores >= floor) & (scores > 0),
        confident=bool(len(scores)) and float(scores.max()) >= CONFIDENT,
    )


def keyword_evidence(leg: LegScores) -> Floats:
    """Return the fraction of the query's information that each chunk carries."""
    return np.clip(leg.raw / leg.bound if leg.bound else leg.raw * 0.0, 0.0, MOST)


def vector_evidence(leg: LegScores) -> Floats:
    """Return how far each cosine stands out from unrelated texts, on a logistic scale."""
    assert leg.background is not None  # noqa: S101 - the vector leg always brings one
    deviations = (leg.raw - leg.background.mean) / max(leg.background.deviation, 1e-6)
    return leg.trust * MOST / (1.0 + np.exp(STEEPNESS * (MIDDLE_DEVIATIONS - deviations)))


_EVIDENCE = {KEYWORD: keyword_evidence, VECTOR: vector_evidence}
