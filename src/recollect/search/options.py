"""The settings of all search stages, and how one question changes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from recollect.search.rank import RankOptions
from recollect.text.setting import setting, whole


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The settings of all search stages."""

    max_results: int = setting("max_results", 6, whole(1, 1000), "how many hits to return")
    candidate_multiplier: int = setting(
        "candidate_multiplier", 4, whole(1, 100), "candidates per leg for each hit wanted"
    )
    rank: RankOptions = field(default_factory=RankOptions)


def adapted(
    options: SearchOptions,
    *,
    fusion: str | None,
    min_score: float | None,
    vector_weight: float | None,
    rerank: bool | None,
) -> SearchOptions:
    """Return the settings as a question wants them; what it leaves open stays as set."""
    chosen = options.rank.fusion
    chosen = replace(
        chosen,
        fusion=fusion or chosen.fusion,
        min_score=chosen.min_score if min_score is None else min_score,
    )
    if vector_weight is not None:
        chosen = replace(chosen, vector_weight=vector_weight, text_weight=1 - vector_weight)
    again = options.rank.rerank
    again = replace(again, enabled=again.enabled if rerank is None else rerank)
    return replace(options, rank=replace(options.rank, fusion=chosen, rerank=again))
