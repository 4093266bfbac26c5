"""What a soak measures over time, and whether it stays flat."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WARM_UP_SHARE = 0.1  # of the time: caches fill, the first sync runs
_JUDGED = 20  # samples a third must have before its median means something


@dataclass(frozen=True, slots=True)
class Limit:
    """How much more the last third may show than the first."""

    factor: float
    plus: float


LIMITS = {
    "MB resident": Limit(1.10, 8),
    "descriptors": Limit(1.0, 4),
    "threads": Limit(1.0, 2),
    "% of a core": Limit(1.5, 1),
    "MB of index": Limit(1.25, 1),
    "MB of WAL": Limit(1.5, 8),
}
"""By unit. Memory allocators keep some of what they get; counts may differ by what is under way."""


@dataclass(slots=True)
class Measures:
    """Samples by series, and seconds of calls by kind."""

    file: Path
    samples: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    """By name and unit: when, and what."""
    calls: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    _last: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)

    def add(self, at: float, name: str, unit: str, value: float) -> None:
        """Take in a sample, and write it down."""
        self.samples.setdefault((name, unit), []).append((at, value))
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"at": at, "name": name, "unit": unit, "value": value}) + "\n")

    def add_rate(self, at: float, process: tuple[str, int], cpu_seconds: float) -> None:
        """Take in the CPU time of a process's life so far, as its share of a core since."""
        before, used = self._last.get(process, (at, cpu_seconds))
        self._last[process] = (at, cpu_seconds)
        if at > before:
            share = 100 * (cpu_seconds - used) / (at - before)
            self.add(at, process[0], "% of a core", share)

    def took(self, at: float, kind: str, seconds: float) -> None:
        """Take in how long a call took."""
        self.calls.setdefault(kind, []).append((at, seconds))

    def trends(self, *, minutes: float) -> Iterator[Trend]:
        """Compare the first third with the last, after the warm-up."""
        for (name, unit), series in sorted(self.samples.items()):
            first, last = _thirds(series, seconds=minutes * 60)
            if first and last:
                yield Trend(name, unit, first, last, _slope_per_hour(series, minutes * 60))

    def latencies(self, *, minutes: float) -> Iterator[str]:
        """Return a line per kind of call: how long it took in the first and the last third."""
        for kind, series in sorted(self.calls.items()):
            first, last = _thirds(series, seconds=minutes * 60)
            if len(first) > 1 and len(last) > 1:
                early, late = _percentiles(first), _percentiles(last)
                yield (
                    f"{len(series):7} {kind:32} median {early[0]:7.1f} → {late[0]:7.1f} ms"
                    f"   p95 {early[1]:8.1f} → {late[1]:8.1f} ms"
                )


@dataclass(frozen=True, slots=True)
class Trend:
    """One series over time."""

    name: str
    unit: str
    first: list[float]
    last: list[float]
    slope: float
    """Per hour, by least squares."""

    @property
    def is_flat(self) -> bool:
        """Whether the last third is within its limit; True if there is too little to tell."""
        limit = LIMITS.get(self.unit)
        if limit is None or min(len(self.first), len(self.last)) < _JUDGED:
            return True
        return median(self.last) <= median(self.first) * limit.factor + limit.plus

    def __str__(self) -> str:
        numbers = f"{median(self.first):8.1f} → {median(self.last):8.1f}"
        most = max(*self.first, *self.last)
        mark = "" if self.is_flat else "   GROWS"
        return (
            f"{self.name:22} {self.unit:14} {numbers}   most {most:8.1f}"
            f"   {self.slope:+8.2f} per hour{mark}"
        )


def _thirds(
    series: list[tuple[float, float]], *, seconds: float
) -> tuple[list[float], list[float]]:
    begin = seconds * WARM_UP_SHARE
    third = (seconds - begin) / 3
    return (
        [value for at, value in series if begin <= at < begin + third],
        [value for at, value in series if at >= begin + 2 * third],
    )


def _slope_per_hour(series: list[tuple[float, float]], seconds: float) -> float:
    points = [(at / 3600, value) for at, value in series if at >= seconds * WARM_UP_SHARE]
    middle = sum(at for at, _ in points) / len(points)
    spread = sum((at - middle) ** 2 for at, _ in points)
    return sum((at - middle) * value for at, value in points) / spread if spread else 0.0


def _percentiles(values: list[float]) -> tuple[float, float]:
    return median(values) * 1000, quantiles(values, n=20)[-1] * 1000
