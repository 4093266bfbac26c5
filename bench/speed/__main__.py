"""Measure Recollect and its peers on made-up memories of several sizes.

python -m bench.speed [CHUNKS …] [options]       default: 10000

Every engine runs in processes of its own and is measured in CPU time, with the wall beside it.
Files, vectors and indexes are kept below --cache, outside the repository, for the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.speed.bandwidth import copy_bandwidth, read_bandwidth, scan_costs
from bench.speed.corpus import Shape
from bench.speed.engines.registry import MOST_CHUNKS, PEERS
from bench.speed.inputs import place_of, version_of
from bench.speed.measure import Measurement, measure
from bench.speed.meter import ROOT

HOME = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recollect-bench"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An engine and the environment it runs in."""

    label: str
    engine: str
    python: Path
    source: Path | None = None


def candidates(names: list[str], *, peers: Path, base: Path | None) -> list[Candidate]:
    """Return what to measure: Recollect, another checkout of it, the named peers."""
    own = Path(sys.executable)
    found = [Candidate("recollect", "recollect", own, ROOT / "src")]
    if base is not None:
        found.append(Candidate("recollect-before", "recollect", own, base.resolve() / "src"))
    if names == ["installed"]:
        names = [name for name in PEERS if _environment(name, peers)]
    for name in names:
        python = _environment(name, peers)
        found.append(Candidate(name, name, python or own))
    return found


def _environment(name: str, peers: Path) -> Path | None:
    """Return the interpreter of a peer that is installed."""
    folder = peers / name.removesuffix("-ivf")
    return folder / "bin" / "python" if (folder / ".installed").exists() else None


def commit() -> str:
    """Return what is measured."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def main() -> None:
    """Measure, and write the results after every step: a long run that ends early has some."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("chunks", nargs="*", type=int, default=[10_000])
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--peers", nargs="*", default=[], choices=["installed", *PEERS], help="see peers.sh"
    )
    parser.add_argument("--only", nargs="*", help="measure only these of what is named")
    parser.add_argument("--steps", nargs="*", default=["cold", "warm", "readers", "change"])
    parser.add_argument("--asks", nargs="*", help="only these ways to ask")
    parser.add_argument("--base", type=Path, help="another checkout, measured in the same run")
    parser.add_argument("--cache", type=Path, default=HOME / "data")
    parser.add_argument("--peers-folder", type=Path, default=HOME / "peers")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--passes", type=int, default=3, help="times that each is asked")
    parser.add_argument("--seconds", type=float, default=10.0, help="of CPU, for a way to ask")
    parser.add_argument("--changes", type=int, default=10)
    parser.add_argument("--reading", type=float, default=4.0, help="seconds of each reader run")
    parser.add_argument("--repeats", type=int, default=4, help="cold starts")
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--in-place", action="store_true", help="change the index, not a copy")
    parser.add_argument("--out", type=Path, default=HOME / "results.json")
    given = parser.parse_args()
    result: dict[str, object] = {
        "commit": commit(),
        "machine": {
            "cores": os.cpu_count(),
            "cpu": _cpu(),
            "python": platform.python_version(),
            "read_gb_s": round(read_bandwidth() / 1e9, 2),
            "copy_gb_s": round(copy_bandwidth() / 1e9, 2),
            "scan_by_read": scan_costs(),
        },
    }
    runs: list[dict[str, object]] = []
    result["runs"] = runs
    wanted = candidates(given.peers, peers=given.peers_folder, base=given.base)
    for chunks in given.chunks:
        shape = Shape(chunks, given.dimensions, given.seed)
        for each in wanted:
            if given.only and each.label not in given.only:
                continue
            if chunks > MOST_CHUNKS.get(each.engine, chunks):
                continue
            is_own = each.engine == "recollect"
            label = f"{each.label}-{version_of(each.source)}" if is_own else each.label
            place = place_of(shape, given.cache, label=label)
            if given.rebuild:
                shutil.rmtree(place.folder, ignore_errors=True)
            begun = time.perf_counter()
            found = measure(
                Measurement(
                    each.engine,
                    each.python,
                    each.source,
                    place,
                    steps=frozenset(given.steps),
                    asks=given.asks,
                    questions=given.questions,
                    passes=given.passes,
                    seconds=given.seconds,
                    changes=given.changes,
                    reading=given.reading,
                    repeats=given.repeats,
                    in_place=given.in_place,
                )
            )
            runs.append({"engine": each.label, "chunks": chunks, **found})
            runs[-1]["dimensions"] = given.dimensions
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
            took = time.perf_counter() - begun
            print(f"{each.label} at {chunks}: {took:.0f} s", found.get("failed", ""), flush=True)
    print(given.out)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


if __name__ == "__main__":
    main()
