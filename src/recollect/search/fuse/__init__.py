"""How do several legs' numbers become one score? One file per formula, and a table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.search.fuse.calibrated import calibrated
from recollect.search.fuse.rrf import rrf
from recollect.search.fuse.weighted import weighted
from recollect.search.scores import Fused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.search.options import FusionOptions
    from recollect.search.scores import LegScores
    from recollect.types import Leg

FUSIONS = {"calibrated": calibrated, "weighted": weighted, "rrf": rrf}


def fuse(legs: Mapping[Leg, LegScores], *, options: FusionOptions) -> Fused:
    """Return one score a chunk from all legs that ran; none if no leg ran."""
    if not legs:
        return Fused(np.zeros(0), {}, {}, np.zeros(0, dtype=np.bool_))
    return FUSIONS[options.fusion](legs, options=options)
