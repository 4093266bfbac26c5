"""Keeping to a rate: one clock for all requests in flight, and a pause that stops all of them."""

from __future__ import annotations

import math
import threading
import time

_MINUTE = 60.0


class Pace:
    """Says when the next request may go; waiting ends at once when the pace is stopped."""

    def __init__(self, *, requests_per_minute: int = 0, tokens_per_minute: int = 0) -> None:
        self._seconds_per_request = _MINUTE / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = _MINUTE / tokens_per_minute if tokens_per_minute else 0.0
        self._next_at = 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """True once nobody should wait any more."""
        return self._stopped.is_set()

    def wait_turn(self, tokens: int, *, most_seconds: float = math.inf) -> bool:
        """Wait until a request of so many tokens may go, and count it.

        Args:
            tokens: how large the request is.
            most_seconds: who cannot go within this time does not wait at all.

        Returns:
            False when the turn does not come in time.

        """
        give_up_at = time.monotonic() + most_seconds
        while not self.is_stopped:
            with self._lock:
                now = time.monotonic()
                if self._next_at <= now:
                    self._next_at = now + self._cost(tokens)
                    return True
                # No turn is promised ahead of time: a pause that comes meanwhile holds all.
                turn = self._next_at
            if turn > give_up_at:
                return False
            self.wait(turn - now)
        return True

    def hold(self, seconds: float) -> None:
        """Let nobody go for a while: a server that is asked to wait by one is asked by all."""
        with self._lock:
            self._next_at = max(self._next_at, time.monotonic() + seconds)

    def wait(self, seconds: float) -> None:
        """Wait, unless stopped."""
        if seconds > 0:
            self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting."""
        self._stopped.set()

    def _cost(self, tokens: int) -> float:
        return max(self._seconds_per_request, self._seconds_per_token * tokens)
