"""What the age of a note changes.

Temporal decay, if it is turned on: newer notes first among equals, old right answers still
reachable. `score × 2^(-age/half-life)`, never below the floor. Evergreen chunks do not age, and a
date in the future is not a bonus.

The current state, if a question asks for it: the newer of nearly equal hits first. How well they
match cannot tell which of them still holds; their days can: docs/decisions/ranking.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.search.fuse.calibrated import evidence_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    import numpy.typing as npt

    from recollect.search.options import DecayOptions

    Floats = npt.NDArray[np.float64]

NEARLY = 0.9
"""The share of the best hit's evidence from which on another one may be the newer answer."""


def decay_factor(when: date | None, *, today: date, options: DecayOptions) -> float:
    """Return the factor that a score of this age is multiplied by."""
    age = age_days(when, today=today)
    if not options.enabled or age is None:
        return 1.0
    return max(options.floor, math.pow(2.0, -age / options.half_life_days))


def age_days(when: date | None, *, today: date) -> int | None:
    """Return the age in days, zero for the future, None for evergreen."""
    return None if when is None else max(0, (today - when).days)


def favour_newer(scores: Floats, *, days: Sequence[date | None], today: date) -> Floats:
    """Return the scores with the newest first of those that are nearly as good as the best.

    What is dated in the future is as new as today: a plan is not yet the current state.
    """
    days = [None if day is None else min(day, today) for day in days]
    evidence = evidence_of(scores)
    near = np.flatnonzero(evidence >= NEARLY * evidence.max(initial=0.0)).tolist()
    dated = sorted({day for row in near if (day := days[row]) is not None})
    if len(dated) < 2:  # noqa: PLR2004 - nothing is newer than another
        return scores
    newness = {day: place / (len(dated) - 1) for place, day in enumerate(dated)}
    gains = np.zeros(len(scores))
    for row in near:
        day = days[row]
        gains[row] = 0.0 if day is None else (1 / NEARLY - 1) * newness[day]
    favoured: Floats = -np.expm1(-evidence * (1 + gains))
    return np.where(gains > 0, favoured, scores)
