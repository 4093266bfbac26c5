"""Temporal decay: newer notes first among equals, old right answers still reachable.

`score × 2^(-age/half-life)`, never below the floor. Evergreen chunks do not age, and a date in the
future is not a bonus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.text.setting import number, setting, share, switch

if TYPE_CHECKING:
    from datetime import date


@dataclass(frozen=True, slots=True)
class DecayOptions:
    """Whether and how fast notes age."""

    enabled: bool = setting(
        "temporal_decay.enabled", False, switch, "lower the score of dated notes as they age"
    )
    half_life_days: float = setting(
        "temporal_decay.half_life_days", 30.0, number(0.01, 1e6), "days until a score is halved"
    )
    floor: float = setting(
        "temporal_decay.floor",
        0.4,
        share,
        "minimum share of the score that is kept; 0 behaves like OpenClaw",
    )
    """An old right answer keeps at least this part of its score, and so stays above noise."""


def decay_factor(when: date | None, *, today: date, options: DecayOptions) -> float:
    """Return the factor that a score of this age is multiplied by."""
    age = age_days(when, today=today)
    if not options.enabled or age is None:
        return 1.0
    return max(options.floor, math.pow(2.0, -age / options.half_life_days))


def age_days(when: date | None, *, today: date) -> int | None:
    """Return the age in days, zero for the future, None for evergreen."""
    return None if when is None else max(0, (today - when).days)
