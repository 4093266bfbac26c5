"""From evidence to one order: fuse, weigh sources, lift exact matches, decay, rerank, diversify.

Every stage's numbers are kept, so that the explanation is the computation itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.search.decay import decay_factor
from recollect.search.exact import exactness, lift
from recollect.search.fuse import Fused, fuse
from recollect.search.importance import weigh_importance
from recollect.search.mmr import mmr
from recollect.search.rerank import Reranked, Standing, ceilings_of, rerank
from recollect.search.sources import keep_quota, weigh_sources
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    import numpy.typing as npt

    from recollect.providers.base import Reranker
    from recollect.search.legs import Evidence
    from recollect.search.options import (
        FusionOptions,
        MmrOptions,
        RankOptions,
    )
    from recollect.stores.base import Loaded
    from recollect.types import Degradation

    Floats = npt.NDArray[np.float64]

_DIVERSIFIED = 100  # nobody reads further, and similarity is quadratic


@dataclass(frozen=True, slots=True)
class Ranking:
    """The union in its final order, with the scores after each stage."""

    fused: Fused
    weighed: Floats
    """Scores after source weights and importance."""
    lifted: Floats
    """Scores after exact matches."""
    aged: Floats
    """Scores after decay."""
    scores: Floats
    """Final scores, after rerank."""
    is_exact: npt.NDArray[np.bool_]
    order: Sequence[int]
    """Eligible rows of the union, best first."""
    similarities: Mapping[int, float]
    """Similarity of rows to those chosen before them, if hits are diversified."""
    confidence: float
    """How sure the legs are of an answer; entirely after an exact match, or a sure rerank."""
    degradation: Degradation | None = None
    """Why rerank did not run; None if it did or was not wanted."""


def rank(
    text: str,
    *,
    evidence: Evidence,
    options: RankOptions,
    today: date,
    reranker: Reranker | None = None,
) -> Ranking:
    """Order the union; at least one leg must have run."""
    fused = fuse(evidence.legs, options=options.fusion)
    tiers = exactness(
        text,
        question=evidence.question,
        loaded=evidence.loaded,
        corpus=evidence.corpus,
        scores=fused.scores,
    )
    loaded = evidence.loaded
    weighed = weigh_sources(fused.scores, sources=loaded.sources, options=options.sources)
    weighed = weigh_importance(weighed, importance=loaded.importance)
    lifted = lift(weighed, tiers)
    is_exact = tiers > 0
    of_day = {
        day: decay_factor(day, today=today, options=options.decay) for day in set(loaded.days)
    }
    # An exact match is wanted whatever its age.
    factors = np.where(is_exact, 1.0, [of_day[day] for day in loaded.days])
    aged = lifted * factors
    looked = Reranked(aged)
    if options.rerank.enabled and reranker is not None:
        standing = Standing(
            scores=aged,
            ceilings=ceilings_of(factors, is_exact=is_exact),
            # An exact match needs no opinion.
            order=_best_first(aged, fused.eligible & ~is_exact, loaded=loaded),
            chunks=loaded.chunks,
        )
        looked = rerank(text, standing=standing, reranker=reranker, options=options.rerank)
    scores = looked.scores
    # The user's floor is decided before decay: old is not irrelevant.
    before_decay = np.maximum(lifted, scores)
    kept = _kept(fused, before_decay, is_exact, options.fusion)
    order = _best_first(scores, kept, loaded=loaded)
    order = keep_quota(order, scores=scores, sources=loaded.sources)
    similarities: dict[int, float] = {}
    if options.mmr.enabled:
        order, similarities = _varied(order, scores, texts=loaded.texts, options=options.mmr)
    return Ranking(
        fused=fused,
        weighed=weighed,
        lifted=lifted,
        aged=aged,
        scores=scores,
        is_exact=is_exact,
        order=order,
        similarities=similarities,
        confidence=1.0 if is_exact.any() or looked.is_sure else fused.confidence,
        degradation=looked.degradation,
    )


def _kept(
    fused: Fused, scores: Floats, is_exact: npt.NDArray[np.bool_], options: FusionOptions
) -> npt.NDArray[np.bool_]:
    """Return what is shown: a floor of the user's takes the place of the fusion's."""
    if options.min_score is None:
        return fused.eligible | is_exact
    return ((fused.scores > 0) | is_exact) & (scores >= options.min_score)


def _best_first(scores: Floats, among: npt.NDArray[np.bool_], *, loaded: Loaded) -> list[int]:
    negated = (-scores).tolist()
    return sorted(
        np.flatnonzero(among).tolist(),
        key=lambda row: (negated[row], loaded.paths[row], loaded.start_lines[row]),
    )


def _varied(
    rows: list[int], scores: Floats, *, texts: Sequence[str], options: MmrOptions
) -> tuple[list[int], dict[int, float]]:
    """Return the rows in their new order, and how similar each is to those before it."""
    varied, rest = rows[:_DIVERSIFIED], rows[_DIVERSIFIED:]
    picks = mmr(
        [float(scores[row]) for row in varied],
        terms=[frozenset(terms(texts[row])) for row in varied],
        balance=options.balance,
    )
    similarities = {varied[pick.place]: pick.similarity for pick in picks}
    return [*similarities, *rest], similarities
