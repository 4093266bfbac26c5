"""How do several legs' numbers become one score? One file a formula, and the table of them."""

from recollect.search.fuse.base import Fused, FusionOptions, LegScores
from recollect.search.fuse.table import FUSIONS, fuse

__all__ = ["FUSIONS", "Fused", "FusionOptions", "LegScores", "fuse"]
