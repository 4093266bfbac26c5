"""How do several legs' numbers become one score? One file per formula, and a table of them."""

from recollect.search.fuse.base import Fused, LegScores
from recollect.search.fuse.table import FUSIONS, fuse
from recollect.search.options import FusionOptions

__all__ = ["FUSIONS", "Fused", "FusionOptions", "LegScores", "fuse"]
