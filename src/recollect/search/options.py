"""The settings of a search, stage by stage."""

from __future__ import annotations

from dataclasses import field

from recollect.records import dataclass
from recollect.text.setting import (
    number,
    one_of,
    optional,
    plain,
    setting,
    share,
    switch,
    user_setting,
    whole,
)

CALIBRATED = "calibrated"
FUSION_NAMES = (CALIBRATED, "weighted", "rrf")
"""Names of the formulas in `search.fuse`."""
NORMALISER_NAMES = ("rank", "sigmoid", "minmax")
"""Names of the scales of the keyword leg that `weighted` knows."""
HYDE = "hyde"
"""Names a missing made-up answer in `degraded`."""
EXPAND = "expand"
"""Names missing rewordings in `degraded`."""
_LEAST_POOL = 100  # the first results are the same for every number of results up to this


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """Which formula, and the weights of those that have any."""

    min_score: float | None = setting(
        "min_score", None, optional(share), "drop hits below; unset: the fusion's own floor"
    )
    fusion: str = setting(
        "fusion", CALIBRATED, one_of(FUSION_NAMES), "how the legs become one score"
    )
    vector_weight: float = setting(
        "vector_weight", 0.7, share, "weighted and rrf: weight of the vector leg"
    )
    text_weight: float = setting(
        "text_weight", 0.3, share, "weighted and rrf: weight of the keyword leg"
    )
    text_normaliser: str = setting(
        "text_normaliser", "rank", one_of(NORMALISER_NAMES), "weighted: scale of the keyword leg"
    )


@dataclass(frozen=True, slots=True)
class DecayOptions:
    """Whether and how fast notes age."""

    enabled: bool = setting(
        "temporal_decay.enabled", False, switch, "lower the score of dated notes as they age"
    )
    half_life_days: float = setting(
        "temporal_decay.half_life_days", 30.0, number(0.01, 1e6), "days until a score is halved"
    )


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """Whether the best candidates are read again, and for how long."""

    enabled: bool = setting(
        "rerank.enabled", True, switch, "let the reader judge the best candidates"
    )
    budget_ms: int = setting(
        "rerank.budget_ms", 5000, whole(1, 60_000), "give up reranking after this time"
    )
    weight: float = 0.75
    """What the reader's probability weighs against the whole information of a query."""


@dataclass(frozen=True, slots=True)
class MmrOptions:
    """Whether hits are diversified, and how much."""

    enabled: bool = setting(
        "mmr.enabled", False, switch, "prefer hits that differ from those above"
    )
    balance: float = setting("mmr.lambda", 0.7, share, "1 is relevance only, 0 is variety only")


@dataclass(frozen=True, slots=True)
class RankOptions:
    """The settings of the stages after retrieval."""

    fusion: FusionOptions = field(default_factory=FusionOptions)
    decay: DecayOptions = field(default_factory=DecayOptions)
    rerank: RerankOptions = field(default_factory=RerankOptions)
    mmr: MmrOptions = field(default_factory=MmrOptions)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The settings of all search stages."""

    max_results: int = setting("max_results", 6, whole(1, 1000), "how many hits to return")
    candidate_multiplier: int = setting(
        "candidate_multiplier", 1, whole(1, 100), "candidates per leg for each hit, 100 at least"
    )
    rank: RankOptions = field(default_factory=RankOptions)

    def pool(self, max_results: int) -> int:
        """Return how many candidates a leg may propose."""
        return max(_LEAST_POOL, max_results * self.candidate_multiplier)


@dataclass(frozen=True, slots=True)
class WordingOptions:
    """What a language model adds to a question."""

    hyde: bool = user_setting(
        "hyde.enabled", False, switch, "let the language model imagine an answer for the vector leg"
    )
    model: str | None = user_setting(
        "hyde.model", None, optional(plain), "model for hyde and expand; unset: llm.model"
    )
    expand: bool = user_setting(
        "expand.enabled",
        False,
        switch,
        "let the language model reword the question for the vector leg",
    )
    seconds: float = user_setting(
        "llm.seconds", 4.0, number(0.1, 60), "search without hyde and expand if they take longer"
    )

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names of what is turned on."""
        return tuple(name for name, on in ((HYDE, self.hyde), (EXPAND, self.expand)) if on)
