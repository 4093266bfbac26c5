"""Counters in Prometheus' text format, version 0.0.4.

Labels come from our own tables, never from a request, so their number is bounded.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.types import Results

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_MS_PER_SECOND = 1_000
_CHUNKS = (1_000, 20_000)  # from which on a memory is medium, and large
_SIZES = ("small", "medium", "large")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What one server has counted since it started."""

    def __init__(self) -> None:
        self._requests: Counter[Labels] = Counter()
        self._took = _Histogram(
            "recollect_http_request_seconds", "How long requests took.", label="route"
        )
        self._searched = _Histogram(
            "recollect_memory_search_seconds",
            "How long searches took in small memories, medium ones (1,000 chunks or more) and "
            "large ones (20,000 or more).",
            label="size",
        )
        self._searches: Counter[str] = Counter()
        self._degraded: Counter[str] = Counter()
        self.in_progress = 0
        self.abandoned = 0

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[("route", route), ("method", method), ("status", str(status))] += 1
        self._took.add(route, seconds)

    def count_search(self, results: Results) -> None:
        """Count a search, also by the class of its memory: memories are too many to count each."""
        self._searches[results.mode.value] += 1
        self._degraded.update(list(results.degraded or {}))  # the names; it would add up a mapping
        size = _SIZES[bisect.bisect_right(_CHUNKS, results.searched)]
        self._searched.add(size, results.took_ms / _MS_PER_SECOND)

    def lines(self) -> Iterator[str]:
        """Yield the lines of all counters."""
        yield from family(
            "recollect_http_requests_total",
            "counter",
            "Requests answered.",
            self._requests,
        )
        yield from self._took.lines()
        yield from self._searched.lines()
        yield from gauge(
            "recollect_http_requests_under_way", "Requests in progress.", self.in_progress
        )
        yield from family(
            "recollect_http_requests_abandoned_total",
            "counter",
            "Requests whose client disconnected before the response.",
            {(): self.abandoned},
        )
        yield from family(
            "recollect_searches_total",
            "counter",
            "Searches, by the legs that ran.",
            {(("mode", mode),): count for mode, count in self._searches.items()},
        )
        yield from family(
            "recollect_searches_degraded_total",
            "counter",
            "Searches in which a leg did not run or was incomplete.",
            {(("leg", leg),): count for leg, count in self._degraded.items()},
        )


class _Histogram:
    """Durations, for each value of one label."""

    def __init__(self, name: str, about: str, *, label: str) -> None:
        self._name = name
        self._about = about
        self._label = label
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def add(self, value: str, seconds: float) -> None:
        """Count one duration."""
        buckets = self._buckets.setdefault(value, [0] * (len(_BOUNDS) + 1))
        buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[value] += seconds

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        yield f"# HELP {self._name} {self._about}"
        yield f"# TYPE {self._name} histogram"
        for value, buckets in sorted(self._buckets.items()):
            own, total = (self._label, value), 0
            for bound, count in zip((*_BOUNDS, "+Inf"), buckets, strict=True):
                total += count
                yield _line(f"{self._name}_bucket", (own, ("le", str(bound))), total)
            yield _line(f"{self._name}_sum", (own,), self._seconds[value])
            yield _line(f"{self._name}_count", (own,), total)


def family(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    """Yield the lines of one metric, with a value for each set of labels."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in sorted(values.items()):
        yield _line(name, labels, value)


def gauge(name: str, about: str, values: float | Mapping[Labels, float]) -> Iterator[str]:
    """Yield the lines of a gauge: one value, or one for each set of labels."""
    if isinstance(values, int | float):
        values = {(): values}
    yield from family(name, "gauge", about, values)


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels)
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"
