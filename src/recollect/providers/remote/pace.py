"""When to send the next request, and when to try a failed one again."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    import random

_JITTER = 0.5  # share of a wait that is random, so that requests refused together do not collide


class TryAgainError(Exception):
    """An attempt failed; another one may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        wait_seconds: float | None = None,
        most_attempts: int = 1000,
        hint: str = "",
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_seconds = wait_seconds
        self.most_attempts = most_attempts
        self.hint = hint
        self.is_unreachable = is_unreachable


class Pace:
    """Holds all requests to one server that asks one of them to wait, until it is stopped."""

    def __init__(self) -> None:
        self._next_at = 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """True once waiting has been ended."""
        return self._stopped.is_set()

    def wait_turn(self, *, most_seconds: float = math.inf) -> bool:
        """Wait until a request may be sent; return False at once if that takes longer."""
        give_up_at = time.monotonic() + most_seconds
        while not self.is_stopped:
            turn, now = self._next_at, time.monotonic()
            if turn <= now:
                return True
            # Turns are not reserved: a pause that starts meanwhile holds everyone.
            if turn > give_up_at:
                return False
            self.wait(turn - now)
        return True

    def hold(self, seconds: float) -> None:
        """Let no request start for a while: if the server asks one to wait, all wait."""
        with self._lock:
            self._next_at = max(self._next_at, time.monotonic() + seconds)

    def wait(self, seconds: float) -> None:
        """Wait, unless stopped."""
        if seconds > 0:
            self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting."""
        self._stopped.set()


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try one request."""

    attempts: int
    first_seconds: float
    """The first wait; each further one is twice as long."""
    longest_seconds: float
    """The longest single wait; if the server asks for more, the request fails."""
    total_seconds: float
    """All attempts and waits together, from the first turn on."""
    turn_seconds: float = math.inf
    """The longest wait for the end of a pause that the server asked for."""


FOR_INDEXING = Patience(attempts=8, first_seconds=0.5, longest_seconds=60.0, total_seconds=300.0)
"""Long enough to outlast a per-minute limit; the next run resumes a run that gave up."""
FOR_QUESTIONS = Patience(
    attempts=2, first_seconds=0.25, longest_seconds=2.0, total_seconds=8.0, turn_seconds=3.0
)
"""Someone waits for the answer, and the keyword leg can give one."""
UNREACHABLE_ATTEMPTS = 3
"""Attempts if nothing answers at all: more do not help."""


def wait_seconds(
    patience: Patience, *, attempt: int, requested: float | None, chance: random.Random
) -> float:
    """Return the wait after this attempt, counted from 1.

    A requested wait is extended at random, never shortened, and grows if the server goes on
    refusing: one that asks for a second at a time may need a minute. Zero is ignored.
    """
    backed_off = min(patience.first_seconds * 2.0 ** (attempt - 1), patience.longest_seconds)
    shortened = backed_off * (1 - _JITTER * chance.random())
    if requested:
        extended = requested + _JITTER * chance.random() * min(backed_off, requested)
        return max(extended, shortened)
    return shortened
