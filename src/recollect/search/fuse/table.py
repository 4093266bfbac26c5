"""The fusions by name, and their options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.search.fuse.calibrated import calibrated
from recollect.search.fuse.rrf import rrf
from recollect.search.fuse.weighted import NORMALISERS, weighted
from recollect.text.setting import one_of, optional, setting, share, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.fuse.base import Fused, LegScores
    from recollect.types import Leg

FUSIONS = {"calibrated": calibrated, "weighted": weighted, "rrf": rrf}


@dataclass(frozen=True, slots=True)
class FusionOptions:
    """Which formula, and the weights of those that have any."""

    min_score: float | None = setting(
        "min_score", None, optional(share), "drop hits below; unset: the fusion's own floor"
    )
    fusion: str = setting("fusion", "calibrated", one_of(FUSIONS), "how the legs become one score")
    vector_weight: float = setting(
        "vector_weight", 0.7, share, "weighted and rrf: weight of the vector leg"
    )
    text_weight: float = setting(
        "text_weight", 0.3, share, "weighted and rrf: weight of the keyword leg"
    )
    text_normaliser: str = setting(
        "text_normaliser", "rank", one_of(NORMALISERS), "weighted: scale of the keyword leg"
    )
    rrf_k: int = setting(
        "rrf_k", 60, whole(1, 10_000), "rrf: higher makes the first ranks stand out less"
    )


def fuse(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return one score a chunk from all legs that ran."""
    return FUSIONS[options.fusion](legs, options=options)
