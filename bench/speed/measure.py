"""The steps of measuring one engine at one size, each in fresh processes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.speed.commands import command_costs
from bench.speed.inputs import task
from bench.speed.meter import Worker, WorkerError, run

if TYPE_CHECKING:
    from pathlib import Path

    from bench.speed.engines.base import Place

READERS = (1, 4, 8)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What to measure of an engine."""

    engine: str
    python: Path
    source: Path | None
    place: Place
    steps: frozenset[str]
    asks: list[str] | None
    """Names of the ways to ask; None is all."""
    questions: int
    passes: int
    """Times that each question is asked."""
    seconds: float
    changes: int
    reading: float
    repeats: int
    """Cold starts, of which the cheapest counts."""
    in_place: bool
    """Whether to change the index itself and not a copy: a large one has no room for two."""

    def run(self, name: str, **more: object) -> dict[str, object]:
        """Run one task in a fresh process."""
        return run(self.python, self.task(name, **more), source=self.source)

    def task(self, name: str, **more: object) -> dict[str, object]:
        """Return a task for a fresh process."""
        return task(name, self.engine, self.place, **more)


def measure(wanted: Measurement) -> dict[str, object]:
    """Measure every step; one that fails is in the result with what it said."""
    found: dict[str, object] = {}
    try:
        found["build"] = _built(wanted)
        if "cold" in wanted.steps:
            found["cold"] = _cold(wanted)
            if wanted.engine == "recollect":
                found["commands"] = command_costs(
                    wanted.python, wanted.source, wanted.place, runs=wanted.repeats
                )
        if "warm" in wanted.steps:
            found["warm"] = wanted.run(
                "warm",
                count=wanted.questions,
                passes=wanted.passes,
                seconds=wanted.seconds,
                asks=wanted.asks,
            )
        if wanted.steps & {"readers", "change"}:
            found |= _on_a_copy(wanted)
    except WorkerError as error:
        found["failed"] = str(error)
    return found


def _built(wanted: Measurement) -> dict[str, object]:
    """Build the index, unless an earlier run did; return what that took."""
    record = wanted.place.folder.with_name(f"{wanted.place.folder.name}.json")
    if wanted.place.folder.exists() and record.exists():
        known: dict[str, object] = json.loads(record.read_text(encoding="utf-8"))
        return known
    shutil.rmtree(wanted.place.folder, ignore_errors=True)
    built = wanted.run("build")
    record.write_text(json.dumps(built), encoding="utf-8")
    return built


def _cold(wanted: Measurement) -> dict[str, object]:
    # The first run is not counted: it may be the first to read the file since it was written.
    runs = [wanted.run("cold") for _ in range(wanted.repeats + 1)][1:]
    return min(runs, key=lambda each: float(each["process_cpu"]))  # type: ignore[arg-type]


def _on_a_copy(wanted: Measurement) -> dict[str, object]:
    """Measure what changes the index; the one that later runs use stays as it is."""
    place = wanted.place
    if wanted.in_place:
        return _changing(wanted)
    copy = place.folder.with_name(f"{place.folder.name}.copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place.folder, copy)
    try:
        return _changing(replace(wanted, place=replace(place, folder=copy)))
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _changing(wanted: Measurement) -> dict[str, object]:
    found: dict[str, object] = {}
    if "readers" in wanted.steps:
        found["readers"] = _readers(wanted)
    if "change" in wanted.steps:
        found["change"] = wanted.run("change", runs=wanted.changes)
    return found


def _readers(wanted: Measurement) -> list[dict[str, object]]:
    """Let several processes ask at once, without a writer and with one."""
    found = []
    for writers in (0, 1) if wanted.engine == "recollect" else (0,):
        for readers in READERS:
            seconds = wanted.reading
            reading = [
                wanted.task("read", seconds=seconds, first=11 * number) for number in range(readers)
            ]
            writing = [wanted.task("write", seconds=seconds + 1) for _ in range(writers)]
            running = [
                Worker(wanted.python, each, source=wanted.source) for each in (*reading, *writing)
            ]
            results = [each.result() for each in running]
            asked = results[:readers]
            found.append(
                {
                    "readers": readers,
                    "writers": writers,
                    "per_second": round(sum(float(each["per_second"]) for each in asked), 2),  # type: ignore[arg-type]
                    "cpu_p50": max(each["cpu_p50"] for each in asked),  # type: ignore[type-var]
                    "wall_p50": max(each["wall_p50"] for each in asked),  # type: ignore[type-var]
                    "wall_p99": max(each["wall_p99"] for each in asked),  # type: ignore[type-var]
                    "written": sum(int(each["runs"]) for each in results[readers:]),  # type: ignore[call-overload]
                    "peak_mb": max(each["peak_mb"] for each in asked),  # type: ignore[type-var]
                }
            )
    return found
