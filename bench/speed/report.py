"""Writes the tables and plots of bench/README.md from results.

python -m bench.speed.report RESULTS.json …     a later file replaces what an earlier one has

The results are kept as bench/results/speed-<commit>.json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.speed.asks import ASKS
from bench.speed.engines.registry import ENGINES, LEFT_OUT
from bench.speed.targets import SIZES, targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).parents[1]
BEGIN, END = "<!-- generated: speed -->", "<!-- end of speed -->"
OWN, BEFORE = "recollect", "recollect-before"
NAMES = {
    OWN: "Recollect",
    BEFORE: "Recollect, before",
    "fts5": "FTS5 + sqlite-vec",
    "tantivy": "tantivy",
    "lancedb": "LanceDB, flat",
    "lancedb-ivf": "LanceDB, IVF-PQ",
    "chroma": "Chroma",
    "memsearch": "memsearch",
    "openclaw": "OpenClaw",
}
Run = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Results:
    """Everything measured, by engine and size; of one machine."""

    machine: dict[str, Any]
    commit: str
    runs: dict[tuple[str, int, int], Run]

    @classmethod
    def read(cls, files: Iterable[Path]) -> Results:
        """Merge result files."""
        machine: dict[str, Any] = {}
        commit = ""
        runs: dict[tuple[str, int, int], Run] = {}
        for file in files:
            read = json.loads(file.read_text(encoding="utf-8"))
            machine, commit = read["machine"], read["commit"]
            for run in read["runs"]:
                key = (run["engine"], run["chunks"], run["dimensions"])
                runs[key] = {**runs.get(key, {}), **run}
        return cls(machine, commit, runs)

    def get(self, engine: str, chunks: int, dimensions: int = 384) -> Run | None:
        """Return a run, unless it was not measured."""
        return self.runs.get((engine, chunks, dimensions))

    @property
    def sizes(self) -> list[int]:
        """The sizes with the default dimensions."""
        return sorted({chunks for _, chunks, dimensions in self.runs if dimensions == 384})  # noqa: PLR2004


def ask_of(run: Run | None, name: str) -> dict[str, float] | None:
    """Return what a way to ask took."""
    asked = ((run or {}).get("warm") or {}).get("asks", {}).get(name)
    return asked if asked and "cpu" in asked else None


def number(value: float | None) -> str:
    """Return a number with as many digits as mean something."""
    if value is None:
        return "–"
    if value >= 10:  # noqa: PLR2004
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def warm_table(results: Results) -> str:
    """Return what each way to ask takes, at each size, now and before."""
    head = ["asked"]
    columns = []
    for chunks in results.sizes:
        for engine in (OWN, BEFORE):
            if (run := results.get(engine, chunks)) is not None:
                head.append(f"{chunks:,}" + (" before" if engine == BEFORE else ""))
                columns.append(run)
    rows = []
    for ask in ASKS:
        row = [ask.name]
        for run in columns:
            asked = ask_of(run, ask.name)
            row.append(
                "–" if asked is None else f"{number(asked['cpu'])} ({number(asked['cpu_p99'])})"
            )
        rows.append(row)
    return table(head, rows)


def parts_table(results: Results) -> str:
    """Return the parts of a hybrid search, and how they grow."""
    rows = []
    for engine in (OWN, BEFORE):
        for chunks in results.sizes:
            parts = ((results.get(engine, chunks) or {}).get("warm") or {}).get("parts")
            if parts:
                row = [number(parts[name]["cpu"]) for name in PARTS if name in parts]
                rows.append([NAMES[engine], f"{chunks:,}", *row])
    return table(["", "chunks", *PARTS.values()], rows)


PARTS = {
    "keyword": "keyword leg",
    "nearest": "vector leg",
    "load": "load the union",
    "rest": "question, ranking, hits",
}


def peer_tables(results: Results) -> str:
    """Return one table a size, with Recollect first."""
    parts = []
    for chunks in results.sizes:
        rows = []
        for engine in (OWN, BEFORE, *list(ENGINES)[1:]):
            run = results.get(engine, chunks)
            if run is not None:
                rows.append([NAMES[engine], *_peer_row(run)])
        parts.append(f"{chunks:,} chunks:\n\n{table(['', *PEER_COLUMNS], rows)}")
    return "\n\n".join(parts)


PEER_COLUMNS = (
    "keyword", "vector", "hybrid", "folder 10 %", "days 7 %", "cold start", "build a chunk",
    "update a file", "delete a file", "no-op index", "KB a chunk", "peak MB",
)  # fmt: skip


def _peer_row(run: Run) -> list[str]:
    if "failed" in run and "warm" not in run:
        return [run["failed"].splitlines()[-1][:80], *[""] * (len(PEER_COLUMNS) - 1)]
    asks = [
        (ask_of(run, name) or {}).get("cpu")
        for name in ("keyword", "vector", "hybrid", "folder, 10 %", "days, 7 %")
    ]
    build, change = run.get("build", {}), run.get("change", {})
    cold = run.get("cold", {}).get("process_cpu")
    return [
        *map(number, asks),
        number(cold * 1000 if cold else None),
        number(build["cpu"] * 1000 / run["chunks"] if build.get("cpu") else None),
        *(number(change.get(name, {}).get("cpu")) for name in ("update", "remove", "no-op")),
        number(build["bytes"] / 1024 / run["chunks"] if build.get("bytes") else None),
        number((run.get("warm") or {}).get("peak_mb")),
    ]


def readers_table(results: Results) -> str:
    """Return how processes get along with each other."""
    rows = [
        [
            NAMES[engine],
            f"{chunks:,}",
            str(each["readers"]),
            "yes" if each["writers"] else "no",
            *(number(each[key]) for key in ("per_second", "cpu_p50", "wall_p99", "peak_mb")),
        ]
        for engine in (OWN, BEFORE)
        for chunks in results.sizes
        for each in (results.get(engine, chunks) or {}).get("readers", ())
    ]
    head = ["", "chunks", "readers", "writer", "answers a second", "CPU ms", "wall p99", "MB each"]
    return table(head, rows)


def start_table(results: Results) -> str:
    """Return what cold commands take."""
    rows = []
    for engine in (OWN, BEFORE):
        for chunks in results.sizes:
            costs = (results.get(engine, chunks) or {}).get("commands")
            if costs:
                row = [number(cost) if isinstance(cost, float) else cost for cost in costs.values()]
                rows.append([NAMES[engine], f"{chunks:,}", *row])
    head = ["", "chunks", "`--version`", "`search`, keyword only", "the same with `--no-sync`"]
    return table(head, rows)


def page(results: Results) -> str:
    """Return the generated part of the page."""
    machine = results.machine
    measured = (
        f"Commit {results.commit}; {machine['cores']} cores of {machine['cpu']}, shared with other"
        f" work. One core reads {machine['read_gb_s']:.0f} GB a second from memory and copies"
        f" {machine['copy_gb_s']:.0f}. Milliseconds of CPU: the median over the questions of the"
        " least that each took, with the 99th percentile of all runs in parentheses."
    )
    return "\n\n".join(
        (
            BEGIN,
            measured,
            "### Targets",
            table(["target", *(f"{chunks:,}" for chunks in SIZES)], targets(results)),
            "### Each leg and filter",
            warm_table(results),
            "![the legs by size](results/legs.svg) ![the filters](results/filters.svg)",
            "### Parts of a hybrid search",
            parts_table(results),
            "### Beside peers",
            "The same texts and vectors. “–” is what an engine cannot do, or was not asked:",
            "\n".join(f"- {NAMES[name]}: {why}" for name, why in LEFT_OUT.items()),
            peer_tables(results),
            "![hybrid search beside peers](results/peers.svg)",
            "### Many processes",
            readers_table(results),
            "### Cold commands",
            start_table(results),
            END,
        )
    )


def main() -> None:
    """Write the page, the plots and the merged results."""
    from bench.speed.plots import draw  # noqa: PLC0415 - needs matplotlib

    results = Results.read(map(Path, sys.argv[1:]))
    kept = HERE / "results" / f"speed-{results.commit}.json"
    kept.write_text(
        json.dumps(
            {
                "commit": results.commit,
                "machine": results.machine,
                "runs": list(results.runs.values()),
            },
            indent=1,
        ),
        encoding="utf-8",
    )
    file = HERE / "README.md"
    before, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    file.write_text(f"{before}{page(results)}{after}", encoding="utf-8")
    draw(results, HERE / "results")


if __name__ == "__main__":
    main()
