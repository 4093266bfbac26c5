"""Evidence ─▶ ranking: fuse, weigh sources and importance, lift exact matches, decay, rerank.

Every stage's scores are kept, so that the explanation is the computation itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.search.exact import exactness
from recollect.search.factors import decay_factor, weigh_importance, weigh_sources
from recollect.search.fuse import fuse
from recollect.search.rerank import RERANK, Reranked, Standing, rerank
from recollect.search.scores import lift

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    import numpy.typing as npt

    from recollect.providers.base import Reranker
    from recollect.search.options import RankOptions
    from recollect.search.scores import Floats, Fused
    from recollect.search.weigh import Evidence
    from recollect.stores.base import Loaded
    from recollect.types import Degradation


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of the union after each stage."""

    fusion: str
    fused: Fused
    stages: Mapping[str, Floats]
    """Scores after each stage that follows, under the name it has in a trace, in their order."""
    is_exact: npt.NDArray[np.bool_]
    probability: float | None
    """The reader's probability that one of them is an answer; None if it did not read."""
    degraded: Mapping[str, Degradation]
    """Why rerank did not run; empty if it did or was not wanted."""

    @property
    def scores(self) -> Floats:
        """Return the final scores."""
        return self.stages["rerank"]


def rank(
    evidence: Evidence, *, options: RankOptions, today: date, reranker: Reranker | None = None
) -> Ranking:
    """Score the union."""
    question, loaded = evidence.question, evidence.loaded
    fused = fuse(evidence.legs, options=options.fusion)
    tiers = exactness(
        question.query.text,
        words=question.words,
        loaded=loaded,
        corpus=evidence.pools.keyword.corpus,
        scores=fused.scores,
    )
    weighed = _weighed(fused.scores, loaded=loaded)
    lifted = lift(weighed, tiers)
    is_exact = tiers > 0
    aging = [decay_factor(each.when, today=today, options=options.decay) for each in loaded.chunks]
    factors = np.where(is_exact, 1.0, aging)  # an exact match is wanted whatever its age
    aged = lifted * factors
    looked = Reranked(aged)
    # What was asked for by its exact name needs no opinion.
    if reranker is not None and evidence.legs and not is_exact.any():
        standing = Standing(
            scores=aged,
            ceilings=factors * _weighed(np.ones_like(aged), loaded=loaded),
            order=best_first(aged, fused.eligible, loaded=loaded),
            chunks=loaded.chunks,
        )
        looked = rerank(
            question.query.text, standing=standing, reranker=reranker, options=options.rerank
        )
    degraded = {RERANK: looked.degradation} if looked.degradation else {}
    stages = {"source": weighed, "exact": lifted, "decay": aged, "rerank": looked.scores}
    fusion = options.fusion.fusion
    return Ranking(fusion, fused, stages, is_exact, looked.probability, degraded)


def _weighed(scores: Floats, *, loaded: Loaded) -> Floats:
    by_source = weigh_sources(scores, sources=[each.source for each in loaded.chunks])
    return weigh_importance(by_source, importance=[each.importance for each in loaded.chunks])


def best_first(scores: Floats, among: npt.NDArray[np.bool_], *, loaded: Loaded) -> list[int]:
    """Return some rows of the union in the order of their scores."""
    negated, chunks = (-scores).tolist(), loaded.chunks
    return sorted(
        np.flatnonzero(among).tolist(),
        key=lambda row: (negated[row], chunks[row].path, chunks[row].start_line),
    )
