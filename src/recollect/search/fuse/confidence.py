"""How likely is it that a memory holds an answer at all? A logistic model of four numbers.

For: the evidence of the best hits. Against: how much the next hits have, too, because an answer
stands out from what is merely of the same kind; and the share of the question's information in
words that occur nowhere in the memory. The weights were fitted on questions whose answer was in
the memory, had been removed from it, or was never in it: docs/decisions/confidence.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.search.fuse.base import DATE, KEYWORD, VECTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.fuse.base import Floats
    from recollect.types import Leg

RIVALS = 5
"""Chunks after the best that it has to stand out from."""
CONFIDENT_FROM = 0.35
"""The least probability of an answer that is called confident."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each number adds to the logarithm of the odds."""

    start: float
    evidence: Mapping[Leg, float]
    """Weight of the best evidence of each leg."""
    rivals: float = 0.0
    """Weight of the mean evidence of the chunks after the best."""
    unknown: float = 0.0
    """Weight of the share of the question's information in words that occur nowhere."""


BY_WORDS = Weights(-2.0, {KEYWORD: 4.0, VECTOR: 10.5, DATE: 8.0}, rivals=-4.1, unknown=-2.1)
BY_VECTOR = Weights(-2.0, {KEYWORD: 8.0, VECTOR: 16.5, DATE: 8.0}, rivals=-6.2, unknown=-2.2)
BY_KEYWORD = Weights(-1.8, {KEYWORD: 10.0, DATE: 8.0})
"""Weights without vectors: any but that of shared words made large memories confident."""


def answer_probability(
    evidence: Mapping[Leg, Floats], *, unknown: float, words_compared: bool
) -> float:
    """Return the probability that one of these chunks answers the question.

    Args:
        evidence: of each leg that ran, on the scale of the calibrated fusion.
        unknown: the share of the question's information in words that occur nowhere.
        words_compared: whether the vector leg compared word by word.

    """
    by_vector = BY_WORDS if words_compared else BY_VECTOR
    weights = by_vector if VECTOR in evidence else BY_KEYWORD
    content = np.sum([own for leg, own in evidence.items() if leg is not DATE], axis=0)
    if not len(content):
        return 0.0
    best = {leg: float(own.max()) for leg, own in evidence.items()}
    if DATE in evidence:
        # The day counts if it is that of the best hit: others of that day are about other things.
        best[DATE] = float(evidence[DATE][np.argmax(content + evidence[DATE])])
    rivals = float(np.sort(content)[::-1][1 : 1 + RIVALS].sum()) / RIVALS
    odds = weights.start + weights.rivals * rivals + weights.unknown * unknown
    odds += sum(weights.evidence.get(leg, 0.0) * most for leg, most in best.items())
    return float(1.0 / (1.0 + np.exp(-odds)))
