"""How fast can this machine read memory? The limit of every scan, measured beside the scans."""

from __future__ import annotations

import time

import numpy as np

_BYTES = 1 << 28
_RUNS = 7
_SCANNED = (100_000, 1_000_000)
_DIMENSIONS = 384


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


def scan_costs() -> dict[str, float]:
    """Return what the scan of so many codes takes, as a multiple of reading them once."""
    from recollect.stores.vectors import closest, hamming  # noqa: PLC0415 - not in a peer's process

    rng = np.random.default_rng(1)
    found = {}
    for count in _SCANNED:
        codes = rng.integers(0, 1 << 63, (_DIMENSIONS // 64, count), dtype=np.uint64)
        code = codes[:, 0].copy()
        scan = _best(lambda: closest(hamming(codes, code), 4000))  # noqa: B023 - used at once
        found[str(count)] = round(scan / _best(lambda: np.bitwise_or.reduce(codes, axis=None)), 2)  # noqa: B023
    return found


def _best(way: object) -> float:
    times = []
    for _ in range(_RUNS):
        begun = time.process_time()
        way()  # type: ignore[operator]
        times.append(time.process_time() - begun)
    return min(times)
