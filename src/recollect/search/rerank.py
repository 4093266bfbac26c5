"""Rerank: a cross-encoder reads the question together with each of the best candidates.

Its opinion is further evidence on the scale of the calibrated fusion, and evidence adds up: what it
is sure of rises, everything else stays where it was. If it runs out of time or has no model, the
order stands and the answer says so. Chosen by measurement: docs/decisions/ranking.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.search.scores import raised
from recollect.types import Degradation, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.providers.base import Reranker
    from recollect.search.options import RerankOptions
    from recollect.types import Chunk

    Floats = npt.NDArray[np.float64]

RERANK = "rerank"
"""Names this stage in `degraded`."""
CANDIDATES = 20
"""How many the model reads: with more, nDCG rises by less than the time (decisions/ranking.md)."""
_SURE = 0.5  # the model was trained to score answers above this, everything else below
_NOT_READ = Degradation(
    reason="The rerank model does not support this writing system.",
    action="Nothing is broken: the order is that of the legs. `--no-rerank` skips the attempt.",
)


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
    is_sure: bool = False
    """Whether the model considers one of them an answer."""


def rerank(
    question: str, *, standing: Standing, reranker: Reranker, options: RerankOptions
) -> Reranked:
    """Let the model's opinion of the best candidates raise their scores."""
    if reranker.reads(question) < READS_ENOUGH:
        return Reranked(standing.scores, _NOT_READ)
    asked = [
        row
        for row in standing.order[:CANDIDATES]
        if reranker.reads(standing.chunks[row].text) >= READS_ENOUGH
    ]
    try:
        reranker.prepare(progress=silent, retry=False)
        # The budget covers loading and reading, not a first download.
        deadline = time.monotonic() + options.budget_ms / 1000
        passages = [standing.chunks[row].embedded_text for row in asked]
        opinions = reranker.score(question, passages, deadline=deadline)
    except ProviderError as error:
        return Reranked(standing.scores, Degradation(error.message, error.action))
    if len(opinions) < len(asked):
        return Reranked(standing.scores, _out_of_time(len(opinions), len(asked), options))
    scores = standing.scores.copy()
    scores[asked] = raised(
        scores[asked],
        evidence=options.weight * np.array(opinions),
        ceilings=standing.ceilings[asked],
    )
    return Reranked(scores, is_sure=max(opinions, default=0.0) >= _SURE)


def _out_of_time(read: int, asked: int, options: RerankOptions) -> Degradation:
    return Degradation(
        reason=f"The rerank model read {read} of {asked} candidates in {options.budget_ms} ms.",
        action="Raise rerank.budget_ms, or turn rerank off.",
    )
