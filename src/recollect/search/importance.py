"""Importance: an entry that its author has marked counts more or less, by OpenClaw's factor.

`score × (0.75 + 0.05 × importance)`: 1 is 0.8, 5 changes nothing, 10 is 1.25; never above 1. An
entry without a mark keeps its score. A note that another one replaces counts 0.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_BASE, _STEP = 0.75, 0.05


def weigh_importance(scores: Floats, *, importance: Sequence[int | None]) -> Floats:
    """Return the scores with the importance of marked entries."""
    if set(importance) <= {None}:
        return scores
    is_marked = np.array([mark is not None for mark in importance], dtype=bool)
    factors = np.array([_BASE + _STEP * (mark or 0) for mark in importance])
    weighed: Floats = np.where(is_marked, np.minimum(1.0, scores * factors), scores)
    return weighed
