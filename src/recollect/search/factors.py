"""Factors on a score: its source, its importance, its age.

A conversation says everything ten times, a note was written to be found. Importance has OpenClaw's
factor 0.75 + 0.05 × importance; a replaced note has 0.75. Temporal decay, if turned on, is
2^(-age/half-life), never below the floor: evergreen chunks do not age.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from recollect.search.options import DecayOptions
    from recollect.search.scores import Floats

_BASE, _STEP = 0.75, 0.05
_SESSIONS = 0.9  # what a hit in a transcript counts
FLOOR = 0.4
"""An old right answer keeps at least this part of its score, and so stays above noise."""


def weigh_sources(scores: Floats, *, sources: Sequence[SourceKind]) -> Floats:
    """Return the scores with each source's weight."""
    if SourceKind.SESSIONS not in sources:
        return scores
    weights = [_SESSIONS if source is SourceKind.SESSIONS else 1.0 for source in sources]
    weighed: Floats = scores * np.array(weights)
    return weighed


def weigh_importance(scores: Floats, *, importance: Sequence[int | None]) -> Floats:
    """Return the scores with the importance of marked entries."""
    if set(importance) <= {None}:
        return scores
    is_marked = np.array([mark is not None for mark in importance], dtype=bool)
    factors = np.array([_BASE + _STEP * (mark or 0) for mark in importance])
    weighed: Floats = np.where(is_marked, np.minimum(1.0, scores * factors), scores)
    return weighed


def decay_factor(when: date | None, *, today: date, options: DecayOptions) -> float:
    """Return the factor that a score of this age is multiplied by."""
    age = age_days(when, today=today)
    if not options.enabled or age is None:
        return 1.0
    return max(FLOOR, math.pow(2.0, -age / options.half_life_days))


def age_days(when: date | None, *, today: date) -> int | None:
    """Return the age in days, zero for the future, None for evergreen."""
    return None if when is None else max(0, (today - when).days)
