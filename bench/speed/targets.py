"""What was aimed at, and whether it was reached: each target as a row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from bench.speed.report import Results

SIZES = (2_000, 10_000, 100_000, 1_000_000)
_OWN = "recollect"
_NOISE = 0.2
"""By how much numbers of two runs differ for no reason."""
Run: TypeAlias = dict[str, Any]
Measured: TypeAlias = Callable[[Run], float | None]


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for one number, at some sizes or at all."""

    name: str
    measured: Measured
    limits: dict[int, float]
    unit: str = " ms"
    peer: str | None = None
    """Whose number is divided by Recollect's; then the limit is the least ratio."""

    def row(self, results: Results) -> list[str]:
        """Return the name, and what was measured at each size."""
        return [self.name, *(self._cell(results, chunks) for chunks in SIZES)]

    def _cell(self, results: Results, chunks: int) -> str:
        limit, own = self.limits.get(chunks), results.get(_OWN, chunks)
        value = self.measured(own) if own else None
        if self.peer is not None:
            other = results.get(self.peer, chunks)
            theirs = self.measured(other) if other else None
            value = theirs / value if theirs and value else None
        if value is None:
            return "not measured" if limit is not None and chunks > SIZES[0] else ""
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"  # noqa: PLR2004
        if limit is None:
            return f"{shown}{self.unit}"
        if abs(value / limit - 1) < _NOISE:
            return f"{shown}{self.unit}, too close to tell"
        is_met = value <= limit if self.peer is None else value >= limit
        return f"{shown}{self.unit}, {'met' if is_met else '**missed**'}"


def ask(name: str) -> Measured:
    """Return how to find what a way to ask takes."""
    return lambda run: _asks(run).get(name, {}).get("cpu")


def part(*names: str) -> Measured:
    """Return how to find what parts of a hybrid search take."""

    def taken(run: Run) -> float | None:
        parts = (run.get("warm") or {}).get("parts") or {}
        return sum(parts[name]["cpu"] for name in names) if {*names} <= {*parts} else None

    return taken


def no_op(run: Run) -> float | None:
    """Return what an index run takes that finds nothing to do."""
    found: float | None = ((run.get("change") or {}).get("no-op") or {}).get("cpu")
    return found


def dearest(*, phrases: bool) -> Measured:
    """Return how to find the most that a filter or a phrase costs, by the search without it."""

    def taken(run: Run) -> float | None:
        plain = ask("hybrid")(run)
        costs = [
            each["cpu"]
            for name, each in _asks(run).items()
            if "cpu" in each
            and name not in {"keyword", "vector", "hybrid"}
            and ("phrase" in name) is phrases
        ]
        return max(costs) / plain if plain and costs else None

    return taken


def command(name: str) -> Measured:
    """Return how to find what a cold command takes."""

    def taken(run: Run) -> float | None:
        found = (run.get("commands") or {}).get(name)
        return found if isinstance(found, float) else None

    return taken


def scan_by_read(machine: Run) -> Measured:
    """Return how to find the scan of all codes as a multiple of reading them once."""
    known: dict[str, float] = machine.get("scan_by_read", {})
    return lambda run: known.get(str(run["chunks"]))


def _asks(run: Run) -> dict[str, dict[str, float]]:
    return (run.get("warm") or {}).get("asks") or {}


def targets(results: Results) -> list[list[str]]:
    """Return one row a target."""
    every = dict.fromkeys
    scan = scan_by_read(results.machine)
    found = [
        Target(
            "keyword leg: 3 ms at 100,000, 25 ms at 1,000,000",
            part("keyword"),
            {100_000: 3, 1_000_000: 25},
        ),
        Target(
            "vector leg: 3 ms at 100,000, 20 ms at 1,000,000",
            part("nearest"),
            {100_000: 3, 1_000_000: 20},
        ),
        Target("load the union and rank it: 4 ms", part("load", "rest"), every(SIZES, 4)),
        Target("dearest filter: 2 × no filter", dearest(phrases=False), every(SIZES, 2), " ×"),
        Target(
            "dearest phrase, as a multiple of no filter (no target)",
            dearest(phrases=True),
            {},
            " ×",
        ),
        Target("scan of all codes: 3 × reading them", scan, {100_000: 3, 1_000_000: 3}, " ×"),
        Target("no-op index of 100,000 files: 1 s", no_op, {1_000_000: 1000}),
        Target("`--version`: 60 ms", command("--version"), every(SIZES, 60)),
        Target(
            "`search`, keyword only: 200 ms", command("search, keyword only"), every(SIZES, 200)
        ),
    ]
    for peer, times, name in (
        ("openclaw", 10, "hybrid"),
        ("memsearch", 5, "hybrid"),
        ("lancedb", 1, "hybrid"),
        ("lancedb-ivf", 1, "hybrid"),
        ("chroma", 1, "vector"),
        ("chroma", 1, "folder, 10 %"),
        ("chroma", 1, "days, 7 %"),
    ):
        title = f"search ({name}): {times} × as fast as {peer}"
        found.append(Target(title, ask(name), every(SIZES, times), " ×", peer))
    for peer, times in (("openclaw", 10), ("memsearch", 5)):
        title = f"no-op index: {times} × as fast as {peer}"
        found.append(Target(title, no_op, every(SIZES, times), " ×", peer))
    return [each.row(results) for each in found]
