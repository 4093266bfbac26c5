"""Temporal decay, if it is turned on: newer notes first among equals, old answers still reachable.

`score × 2^(-age/half-life)`, never below the floor. Evergreen chunks do not age, and a date in the
future is not a bonus.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from recollect.search.options import DecayOptions


def decay_factor(when: date | None, *, today: date, options: DecayOptions) -> float:
    """Return the factor that a score of this age is multiplied by."""
    age = age_days(when, today=today)
    if not options.enabled or age is None:
        return 1.0
    return max(options.floor, math.pow(2.0, -age / options.half_life_days))


def age_days(when: date | None, *, today: date) -> int | None:
    """Return the age in days, zero for the future, None for evergreen."""
    return None if when is None else max(0, (today - when).days)
