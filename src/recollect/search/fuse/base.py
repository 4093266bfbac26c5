"""What fusion takes and returns: each leg's numbers over one union of chunks, and their shares."""

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

KEYWORD = Leg.KEYWORD
VECTOR = Leg.VECTOR
DATE = Leg.DATE


@dataclass(frozen=True, slots=True)
class LegScores:
    """One leg's numbers over the union; a leg that did not run has none."""

    raw: Floats
    """Higher is better."""
    present: npt.NDArray[np.bool_]
    """Rows with evidence of the leg; elsewhere it is silent, not zero."""
    bound: float = 1.0
    """Keyword: the score of a chunk that is about nothing but the query."""
    background: Background | None = None
    """Vector: how unrelated texts score in this space."""
    trust: Floats | float = 1.0
    """Vector: how much of each chunk the model can read."""
    context: Floats | None = None
    """Vector: the mean raw of the document's chunks in the union."""
    commonness: Floats | None = None
    """Vector: how much nearer each chunk is to all candidates than they are to each other."""
    words: Floats | None = None
    """Vector: how well the question's words match those of each chunk, NaN where nobody looked."""
    word_background: Background | None = None
    """Vector: how well the words of unrelated texts match."""
    memory_chunks: int = 0
    """Keyword: how many chunks were searched."""
    unknown: float = 0.0
    """The share of the question's information in words that occur nowhere in the memory."""

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Return 1-based ranks by raw, 0 where the leg is silent; ties keep the union's order."""
        order = np.argsort(-np.where(self.present, self.raw, -np.inf), kind="stable")
        ranks = np.zeros(len(self.raw), dtype=np.int64)
        ranks[order] = np.arange(1, len(self.raw) + 1)
        ranks[~self.present] = 0
        return ranks


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
    confidence: float
    """How sure it is that one of them answers the question, 0 to 1."""
