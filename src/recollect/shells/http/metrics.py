"""Counters in Prometheus' text format, version 0.0.4.

Labels come from our own tables, never from a request, so their number is bounded.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What one server has counted since it started."""

    def __init__(self) -> None:
        self._requests: Counter[Labels] = Counter()
        self._took: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._searches: Counter[str] = Counter()
        self._degraded: Counter[str] = Counter()
        self.in_progress = 0
        self.abandoned = 0

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[("route", route), ("method", method), ("status", str(status))] += 1
        buckets = self._took.setdefault(route, [0] * (len(_BOUNDS) + 1))
        buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def count_search(self, mode: str, *, degraded: Iterable[str]) -> None:
        """Count a search."""
        self._searches[mode] += 1
        self._degraded.update(list(degraded))  # only the names: a Counter would add up a mapping

    def lines(self) -> Iterator[str]:
        """Yield the lines of all counters."""
        yield from family(
            "recollect_http_requests_total",
            "counter",
            "Requests answered.",
            self._requests,
        )
        yield from self._histogram()
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

    def _histogram(self) -> Iterator[str]:
        name = "recollect_http_request_seconds"
        yield f"# HELP {name} How long requests took."
        yield f"# TYPE {name} histogram"
        for route, buckets in sorted(self._took.items()):
            total = 0
            for bound, count in zip((*_BOUNDS, "+Inf"), buckets, strict=True):
                total += count
                yield _line(f"{name}_bucket", (("route", route), ("le", str(bound))), total)
            yield _line(f"{name}_sum", (("route", route),), self._seconds[route])
            yield _line(f"{name}_count", (("route", route),), total)


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
