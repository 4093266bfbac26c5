"""The fusions by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.search.fuse.calibrated import calibrated
from recollect.search.fuse.rrf import rrf
from recollect.search.fuse.weighted import weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.fuse.base import Fused, LegScores
    from recollect.search.options import FusionOptions
    from recollect.types import Leg

FUSIONS = {"calibrated": calibrated, "weighted": weighted, "rrf": rrf}


def fuse(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return one score a chunk from all legs that ran."""
    return FUSIONS[options.fusion](legs, options=options)
