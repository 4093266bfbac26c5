"""Rerank: the reader reads the question together with each of the best candidates.

Its opinion, the probability that a passage answers, is further evidence on the scale of the
calibrated fusion, and evidence adds up: what it is sure of rises, everything else stays where it
was. If it runs out of time or has no model, the order stands and the answer says so; a text in a
script that it cannot read counts like the best that it could. Chosen by measurement:
docs/decisions/ranking.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.search.names import answered
from recollect.search.scores import raised
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.providers.base import Reranker
    from recollect.search.options import RerankOptions
    from recollect.types import Chunk

    Floats = npt.NDArray[np.float64]

RERANK = "rerank"
"""Names this stage in `degraded`."""
CANDIDATES = 8
"""How many the model reads: with more, nDCG rises by less than the time (decisions/ranking.md)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The union as it is ranked before rerank."""

    scores: Floats
    ceilings: Floats
    """The most each row's score may rise to: less for old chunks."""
    order: Sequence[int]
    """Rows that may be read, best first."""
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores after rerank, or why it did not run."""

    scores: Floats
    degradation: Degradation | None = None
    probability: float | None = None
    """The model's probability that one of them is an answer; None if it did not read them all."""


def rerank(
    question: str, *, standing: Standing, reranker: Reranker, options: RerankOptions
) -> Reranked:
    """Let the model's opinion of the best candidates raise their scores."""
    best = list(standing.order[:CANDIDATES])
    asked = [row for row in best if reranker.reads(standing.chunks[row].text) >= READS_ENOUGH]
    if not asked or reranker.reads(question) < READS_ENOUGH:
        return Reranked(standing.scores)
    try:
        reranker.prepare()
        deadline = time.monotonic() + options.budget_ms / 1000
        passages = [standing.chunks[row].read_text for row in asked]
        opinions = reranker.score(question, passages, deadline=deadline)
    except ProviderError as error:
        return Reranked(standing.scores, Degradation(error.message, error.action))
    if len(opinions) < len(asked):
        return Reranked(standing.scores, _out_of_time(len(opinions), len(asked), options))
    # What it could not read may be the answer, and rises with the best.
    of_row = dict(zip(asked, opinions, strict=True))
    assumed = np.array([of_row.get(row, max(opinions)) for row in best])
    scores = standing.scores.copy()
    scores[best] = raised(
        scores[best], evidence=options.weight * assumed, ceilings=standing.ceilings[best]
    )
    if len(asked) < len(best):
        return Reranked(scores)
    chunks = [standing.chunks[row] for row in best]
    return Reranked(scores, probability=answered(question, chunks, opinions))


def _out_of_time(read: int, asked: int, options: RerankOptions) -> Degradation:
    return Degradation(
        reason=f"The reader read {read} of {asked} candidates in {options.budget_ms} ms.",
        action="Raise rerank.budget_ms, or turn rerank off.",
    )
