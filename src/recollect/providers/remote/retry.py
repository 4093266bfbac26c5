"""How long to wait before asking again, and when to stop asking."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_JITTER = 0.5  # of a wait is random, so that requests refused together do not return together


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try one request."""

    attempts: int
    first_seconds: float
    """The first wait; each further one is twice as long."""
    longest_seconds: float
    """One wait; a server that asks for more is not waited for."""
    total_seconds: float
    """Everything together, requests included, from the first turn on."""
    turn_seconds: float = math.inf
    """Waiting for a turn, where a rate is kept to or a server asked for a pause."""


FOR_INDEXING = Patience(attempts=8, first_seconds=0.5, longest_seconds=60.0, total_seconds=300.0)
"""Long enough to outlast a limit per minute; a run that gives up is resumed by the next."""
FOR_QUESTIONS = Patience(
    attempts=2, first_seconds=0.25, longest_seconds=2.0, total_seconds=8.0, turn_seconds=3.0
)
"""Someone waits for the answer, and keywords can give one."""
UNREACHABLE_ATTEMPTS = 3
"""Where nothing answers at all, asking often does not help."""


def wait_seconds(
    patience: Patience, *, attempt: int, asked: float | None, chance: random.Random
) -> float:
    """Return the wait after the attempt of this number, counted from 1.

    What a server asks for is kept to; a random part is added to it, never taken away. One that
    asks for no wait at all is not taken at its word: it has just refused.
    """
    backed_off = min(patience.first_seconds * 2.0 ** (attempt - 1), patience.longest_seconds)
    if asked:
        return asked + _JITTER * chance.random() * min(backed_off, asked)
    return backed_off * (1 - _JITTER * chance.random())
