"""Ids that clients make: they ascend, and no two processes make the same."""

from __future__ import annotations

import os
import threading
import time

_EPOCH_MS = 1_700_000_000_000
_RANDOM_BITS = 12
_COUNT_BITS = 10  # ids that one process makes in a millisecond before it borrows from the next


class KeyMaker:
    """Makes ascending ids of 63 bits: time, then a count, then bits that are the process's own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._own = int.from_bytes(os.urandom(2), "big") % (1 << _RANDOM_BITS)

    def make(self, count: int) -> list[int]:
        """Return ids, each greater than all that this process has made before."""
        with self._lock:
            now = (time.time_ns() // 1_000_000 - _EPOCH_MS) << _COUNT_BITS
            first = max(self._last + 1, now)
            self._last = first + count - 1
        return [(number << _RANDOM_BITS) | self._own for number in range(first, first + count)]
