"""Each leg's numbers over one union of chunks, what they are worth as evidence, and one score.

Keyword evidence is the share of the query's information that the chunk carries, and grows faster
than it: sharing a little is mostly coincidence. Vector evidence is how far cosine and word matches
are above those of unrelated texts in this space, without what all candidates have in common. A
silent leg is zero evidence, so it takes nothing away. A score is 1 − e^(−rate·evidence), with a
narrow band above it for exact matches. Chosen by measurement: docs/decisions/ranking.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from recollect.search.options import FusionOptions
    from recollect.types import Background

    Floats = npt.NDArray[np.float64]

KEYWORD, VECTOR, DATE = Leg.KEYWORD, Leg.VECTOR, Leg.DATE

RATE = 3.0
"""Puts a score of about one half where the best hits of unrelated questions end."""
LIFTED = 0.995
"""Exact hits score at least this, all others at most."""
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
COINCIDENCE = 0.01
"""What keyword evidence loses where the words were compared, too: all texts share some."""
LONGEST_BOUND = 70.0
"""The most that a question says of one thing, as a bound of BM25: a longer message says several."""
DATE_EVIDENCE = 0.15
"""The worth of being dated on a day the question names."""


@dataclass(frozen=True, slots=True)
class LegScores:
    """One leg's numbers over the union; a leg that did not run has none."""

    raw: Floats
    """Higher is better."""
    present: npt.NDArray[np.bool_]
    """Rows with evidence of the leg; elsewhere it is silent, not zero."""

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Return 1-based ranks by raw, 0 where the leg is silent; ties keep the union's order."""
        order = np.argsort(-np.where(self.present, self.raw, -np.inf), kind="stable")
        ranks = np.zeros(len(self.raw), dtype=np.int64)
        ranks[order] = np.arange(1, len(self.raw) + 1)
        ranks[~self.present] = 0
        return ranks

    @property
    def compares_words(self) -> bool:
        """Whether words were compared one by one."""
        return False

    def worth(self, *, beside_words: bool) -> Floats:
        """Return the evidence where the leg is not silent, also if other legs compared words."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class KeywordScores(LegScores):
    """The keyword leg: raw is BM25."""

    bound: float = 1.0
    """The score of a chunk that is about nothing but the query."""

    def worth(self, *, beside_words: bool) -> Floats:
        """Return the worth of the shared part of the query's information.

        Where words were compared, too, it is in a long message as much as in a question of ordinary
        length, and nothing if it is as little as any two texts share.
        """
        if not self.bound:
            return np.zeros_like(self.raw)
        evidence: Floats = (self.raw / self.bound) ** COINCIDENCE_POWER
        if beside_words:
            length = (max(self.bound, LONGEST_BOUND) / LONGEST_BOUND) ** COINCIDENCE_POWER
            evidence = np.maximum(np.minimum(evidence * length, 1.0) - COINCIDENCE, 0.0)
        return np.where(self.present, evidence, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScores(LegScores):
    """The vector leg: raw is the cosine."""

    background: Background
    """How unrelated texts score in this space."""
    trust: Floats | float = 1.0
    """How much of each chunk the model can read."""
    context: Floats | None = None
    """The mean raw of the document's chunks in the union."""
    commonness: Floats | None = None
    """How much nearer each chunk is to all candidates than they are to each other."""
    words: Floats | None = None
    """How well the question's words match those of each chunk, NaN where nobody looked."""
    word_background: Background | None = None
    """How well the words of unrelated texts match."""

    @property
    def compares_words(self) -> bool:
        """Whether words were compared one by one."""
        return self.words is not None

    def worth(self, *, beside_words: bool) -> Floats:
        """Return how far each cosine is above unrelated texts; below them it fades, in order."""
        del beside_words  # its own
        cosines = self.raw
        if self.context is not None:
            cosines = (1 - CONTEXT_SHARE) * self.raw + CONTEXT_SHARE * self.context
        if self.words is None or self.word_background is None:
            evidence = EVIDENCE_PER_DEVIATION * _above(cosines, self.background)
        else:
            if self.commonness is not None:
                cosines = cosines - self.commonness
            # Candidates beyond the compared ones are too weak to matter.
            worded = _above(self.words, self.word_background)
            evidence = EVIDENCE_BESIDE_WORDS * _above(cosines, self.background)
            evidence = evidence + EVIDENCE_PER_WORD_DEVIATION * worded
        return np.where(self.present, self.trust * evidence, 0.0)


@dataclass(frozen=True, slots=True)
class DateScores(LegScores):
    """The date leg: raw is how likely a chunk is about the days that a question names."""

    def worth(self, *, beside_words: bool) -> Floats:
        """Return the worth of being dated on a day the question names."""
        del beside_words
        return np.where(self.present, DATE_EVIDENCE * self.raw, 0.0)


def evidence_of_legs(legs: Mapping[Leg, LegScores]) -> dict[Leg, Floats]:
    """Return the evidence of each leg that ran."""
    beside_words = any(leg.compares_words for leg in legs.values())
    return {name: leg.worth(beside_words=beside_words) for name, leg in legs.items()}


def _above(values: Floats, background: Background) -> Floats:
    """Return by how many deviations values are above the background; NaN is far below it."""
    deviations = np.nan_to_num((values - background.mean) / background.deviation, nan=-np.inf)
    above: Floats = np.logaddexp(0.0, deviations)
    return above


def shares(legs: Collection[Leg], *, options: FusionOptions) -> Mapping[Leg, float]:
    """Return the share of each leg that ran and has a weight; they add up to 1.

    Legs that all weigh nothing count equally: they are the only ones that can answer.
    """
    configured = {KEYWORD: options.text_weight, VECTOR: options.vector_weight}
    weights = {name: configured[name] for name in legs if name in configured}
    total = sum(weights.values())
    return {
        name: weight / total if total else 1.0 / len(weights) for name, weight in weights.items()
    }


@dataclass(frozen=True, slots=True)
class Fused:
    """Scores of the union, with each leg's share in them."""

    scores: Floats
    normalised: Mapping[Leg, Floats]
    """Each leg's evidence on the scale of the formula."""
    contributions: Mapping[Leg, Floats]
    """Add up to the scores."""
    eligible: npt.NDArray[np.bool_]
    """What the formula's own floor lets through, decided before decay."""


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


def raised(scores: Floats, *, evidence: Floats, ceilings: Floats) -> Floats:
    """Return score + (ceiling − score)·(1 − e^(−rate·evidence)): nothing falls, order holds."""
    return scores + (ceilings - scores) * score_of(evidence)
