"""How fast can this machine read memory? The limit of every scan, measured beside the scans."""

from __future__ import annotations

import time

import numpy as np

_BYTES = 1 << 28
_RUNS = 7


def read_bandwidth() -> float:
    """Return bytes per second of CPU time, of the fastest way that NumPy has to read an array."""
    words = np.ones(_BYTES // 8, dtype=np.uint64)
    ways = (
        lambda: np.bitwise_or.reduce(words),
        words.max,
        words.sum,
    )
    return _BYTES / min(_best(way) for way in ways)


def copy_bandwidth() -> float:
    """Return bytes copied per second of CPU time."""
    words = np.ones(_BYTES // 16, dtype=np.uint64)
    other = np.zeros_like(words)
    return words.nbytes / _best(lambda: np.copyto(other, words))


def _best(way: object) -> float:
    times = []
    for _ in range(_RUNS):
        begun = time.process_time()
        way()  # type: ignore[operator]
        times.append(time.process_time() - begun)
    return min(times)
