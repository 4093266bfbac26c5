"""The default fusion: each leg's number becomes evidence on an absolute scale, and adds up.

Keyword evidence comes from the share of the query's information that the chunk carries: bm25
divided by the score of a chunk about nothing but the query. It grows faster than that share,
because sharing a little with a question is mostly coincidence. Vector evidence is how far the
cosine, and the match of the single words, are above those of unrelated texts in this space; what a
chunk has in common with all candidates is not counted. A silent leg is zero evidence, so it takes
nothing away. The score is 1 − e^(−rate·evidence): 0 without evidence, never quite 1. Chosen by
measurement: docs/decisions/ranking.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.search.exact import LIFTED
from recollect.search.fuse.base import DATE, KEYWORD, VECTOR, Fused, LegScores
from recollect.search.fuse.confidence import answer_probability

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from recollect.search.fuse.base import Floats
    from recollect.search.options import FusionOptions
    from recollect.types import Leg

COINCIDENCE_POWER = 1.5
"""How much faster than the shared information keyword evidence grows."""
EVIDENCE_PER_DEVIATION = 0.04
"""What one deviation of cosine weighs against the whole information of a query."""
EVIDENCE_BESIDE_WORDS = 0.03
"""Weight of one deviation of cosine where the words were compared, too."""
EVIDENCE_PER_WORD_DEVIATION = 0.06
"""What one deviation of the words' match weighs."""
CONTEXT_SHARE = 0.3
"""How much of a chunk's cosine is its document's."""
CHANCE_CHUNKS = 300
"""Below this many chunks shared words count in full; above, chance matches are discounted."""
CHANCE_LOSS = 0.1
"""What keyword evidence loses where the words were compared, too, for each e-fold of chunks."""
LEAST_OF_KEYWORD = 0.3
COINCIDENCE = 0.01
"""What keyword evidence loses in any memory where the words were compared: all texts share some."""
LONGEST_BOUND = 70.0
"""The most that a question says of one thing, as a bound of BM25: a longer message says several."""
DATE_EVIDENCE = 0.15
"""The worth of being dated on a day the question names."""
RATE = 3.0
"""Puts a score of about one half where the best hits of unrelated questions end."""


FLOOR = 0.02
"""The least score that is shown; drops under one percent of the relevant hits."""
FLOOR_BY_WORDS = 0.03
"""Least score shown where the words were compared, which adds evidence to all."""
TAIL_SHARE = 0.45
"""Hits with a smaller share of the best hit's evidence are its tail."""


def is_tail(scores: Floats, *, best: float) -> npt.NDArray[np.bool_]:
    """Return which scores are far below the best; exact matches are equally good."""
    far: npt.NDArray[np.bool_] = evidence_of(scores) < TAIL_SHARE * evidence_of(np.array(best))
    return far


def evidence_of(scores: Floats) -> Floats:
    """Return the evidence behind scores, but for the rate; that of exact matches is equal."""
    evidence: Floats = -np.log1p(-np.minimum(scores, LIFTED))
    return evidence


def calibrated(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return 1 − e^(−rate·Σ evidence) over the legs that ran."""
    del options  # it has no weights
    evidence = {
        name: np.where(leg.present, _EVIDENCE[name](leg), 0.0) for name, leg in legs.items()
    }
    words_compared = any(leg.words is not None for leg in legs.values())
    if words_compared and KEYWORD in evidence:
        evidence[KEYWORD] = _beside_words(evidence[KEYWORD], legs[KEYWORD])
    total = np.sum(list(evidence.values()), axis=0)
    scores = -np.expm1(-RATE * total)
    shares = scores / np.where(total > 0, total, 1.0)
    floor = FLOOR_BY_WORDS if words_compared else FLOOR
    confidence = answer_probability(
        evidence,
        unknown=max((leg.unknown for leg in legs.values()), default=0.0),
        words_compared=words_compared,
    )
    return Fused(
        scores=scores,
        normalised=evidence,
        contributions={name: own * shares for name, own in evidence.items()},
        eligible=scores >= floor,
        confidence=confidence,
    )


def keyword_evidence(leg: LegScores) -> Floats:
    """Return the worth of the shared part of the query's information."""
    if not leg.bound:
        return np.zeros_like(leg.raw)
    worth: Floats = (leg.raw / leg.bound) ** COINCIDENCE_POWER
    return worth


def _beside_words(evidence: Floats, leg: LegScores) -> Floats:
    """Return what keyword evidence counts where words were compared, too.

    Less in a large memory, in a long message as much as in a question of ordinary length, and
    nothing if it is as little as any two texts share.
    """
    times = max(leg.memory_chunks, CHANCE_CHUNKS) / CHANCE_CHUNKS
    share = max(LEAST_OF_KEYWORD, 1.0 - CHANCE_LOSS * math.log(times))
    length = (max(leg.bound, LONGEST_BOUND) / LONGEST_BOUND) ** COINCIDENCE_POWER
    weighed: Floats = np.maximum(np.minimum(evidence * length, 1.0) * share - COINCIDENCE, 0.0)
    return weighed


def vector_evidence(leg: LegScores) -> Floats:
    """Return how far each cosine is above unrelated texts; below them it fades, in order."""
    assert leg.background is not None  # noqa: S101 - the vector leg always brings one
    cosines = leg.raw
    if leg.context is not None:
        cosines = (1 - CONTEXT_SHARE) * leg.raw + CONTEXT_SHARE * leg.context
    if leg.words is None or leg.word_background is None:
        deviations = (cosines - leg.background.mean) / leg.background.deviation
        return leg.trust * EVIDENCE_PER_DEVIATION * np.logaddexp(0.0, deviations)
    if leg.commonness is not None:
        cosines = cosines - leg.commonness
    near = np.logaddexp(0.0, (cosines - leg.background.mean) / leg.background.deviation)
    matched = (leg.words - leg.word_background.mean) / leg.word_background.deviation
    # Candidates outside the compared hundred are too weak to matter.
    worded = np.logaddexp(0.0, np.nan_to_num(matched, nan=-np.inf))
    return leg.trust * (EVIDENCE_BESIDE_WORDS * near + EVIDENCE_PER_WORD_DEVIATION * worded)


def date_evidence(leg: LegScores) -> Floats:
    """Return the worth of being dated on a day the question names."""
    return DATE_EVIDENCE * leg.raw


_EVIDENCE = {KEYWORD: keyword_evidence, VECTOR: vector_evidence, DATE: date_evidence}
