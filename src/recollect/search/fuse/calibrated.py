"""The default fusion: each leg's number becomes evidence on an absolute scale, and adds up.

Keyword evidence comes from the share of the query's information that the chunk carries: bm25
divided by the score of a chunk about nothing but the query. It grows faster than that share,
because sharing a little with a question is mostly coincidence. Vector evidence is how far the
cosine, and the match of the single words, are above those of unrelated texts in this space. Neither
depends on what else was found, and a silent leg is zero evidence, so it takes nothing away. The
score is 1 − e^(−rate·evidence): 0 without evidence, never quite 1. Chosen by measurement:
docs/decisions/0005 and 0036.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.search.exact import LIFTED
from recollect.search.fuse.base import DATE, KEYWORD, VECTOR, Fused, LegScores

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
"""The same where the words were compared, too."""
EVIDENCE_PER_WORD_DEVIATION = 0.06
"""What one deviation of the words' match weighs."""
CONTEXT_SHARE = 0.3
"""How much of a chunk's cosine is its document's."""
DATE_EVIDENCE = 0.15
"""The worth of being dated on a day the question names."""
RATE = 3.0
"""Puts a score of about one half where confidence starts."""


@dataclass(frozen=True, slots=True)
class Levels:
    """What so much evidence means."""

    floor: float
    """The least score that is shown; drops under one percent of the relevant hits."""
    alone: Mapping[Leg, float]
    """Evidence of one leg that a question about something never written down rarely reaches."""
    together: float
    dated: float
    """Including the date leg: some content must come with the right day."""


BY_VECTOR = Levels(0.02, {KEYWORD: 0.165, VECTOR: 0.185}, together=0.23, dated=0.26)
BY_WORDS = Levels(0.03, {VECTOR: 0.30}, together=0.32, dated=0.35)
"""Where the words were compared, there is more evidence; rare words alone do not convince."""


TAIL_SHARE = 0.4
"""Hits with a smaller share of the best hit's evidence are its tail."""


def is_tail(scores: Floats, *, best: float) -> npt.NDArray[np.bool_]:
    """Return which scores are far below the best; exact matches are equally good."""
    evidence: Floats = -np.log1p(-np.minimum(scores, LIFTED))
    far: npt.NDArray[np.bool_] = evidence < TAIL_SHARE * -np.log1p(-min(best, LIFTED))
    return far


def calibrated(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return 1 − e^(−rate·Σ evidence) over the legs that ran."""
    evidence = {
        name: np.where(leg.present, _EVIDENCE[name](leg), 0.0) for name, leg in legs.items()
    }
    total = np.sum(list(evidence.values()), axis=0)
    scores = -np.expm1(-RATE * total)
    shares = scores / np.where(total > 0, total, 1.0)
    levels = BY_VECTOR if all(leg.words is None for leg in legs.values()) else BY_WORDS
    floor = levels.floor if options.min_score is None else options.min_score
    return Fused(
        scores=scores,
        normalised=evidence,
        contributions={name: own * shares for name, own in evidence.items()},
        eligible=(scores >= floor) & (scores > 0),
        confident=_is_confident(evidence, levels),
    )


def keyword_evidence(leg: LegScores) -> Floats:
    """Return the worth of the shared part of the query's information."""
    if not leg.bound:
        return np.zeros_like(leg.raw)
    worth: Floats = (leg.raw / leg.bound) ** COINCIDENCE_POWER
    return worth


def vector_evidence(leg: LegScores) -> Floats:
    """Return how far each cosine is above unrelated texts; below them it fades, in order."""
    assert leg.background is not None  # noqa: S101 - the vector leg always brings one
    cosines = leg.raw
    if leg.context is not None:
        cosines = (1 - CONTEXT_SHARE) * leg.raw + CONTEXT_SHARE * leg.context
    deviations = (cosines - leg.background.mean) / leg.background.deviation
    near = np.logaddexp(0.0, deviations)
    if leg.words is None or leg.word_background is None:
        return leg.trust * EVIDENCE_PER_DEVIATION * near
    matched = (leg.words - leg.word_background.mean) / leg.word_background.deviation
    # Whose words nobody compared is far behind already.
    worded = np.logaddexp(0.0, np.nan_to_num(matched, nan=-np.inf))
    return leg.trust * (EVIDENCE_BESIDE_WORDS * near + EVIDENCE_PER_WORD_DEVIATION * worded)


def date_evidence(leg: LegScores) -> Floats:
    """Return the worth of being dated on a day the question names."""
    return DATE_EVIDENCE * leg.raw


_EVIDENCE = {KEYWORD: keyword_evidence, VECTOR: vector_evidence, DATE: date_evidence}


def _is_confident(evidence: Mapping[Leg, Floats], levels: Levels) -> bool:
    """Judge by content: a note of the right day may be about something else."""
    content = {name: own for name, own in evidence.items() if name is not DATE}
    if any(own.max(initial=0.0) >= levels.alone.get(name, np.inf) for name, own in content.items()):
        return True
    together = np.sum(list(content.values()), axis=0)
    dated = np.sum(list(evidence.values()), axis=0)
    return bool(
        np.max(together, initial=0.0) >= levels.together
        or np.max(dated, initial=0.0) >= levels.dated
    )
