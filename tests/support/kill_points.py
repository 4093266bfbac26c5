"""Kills index runs at random points. The run after each must end as if nothing had happened.

usage: python -m tests.support.kill_points [--count 1000] [--seed 1]

Half of the runs start with no index, half with one of an older state of the workspace. A point is
an SQL statement or a file operation; see mortal.py. Documents, chunks, terms and vectors are
compared with those of an undisturbed run, row by row. Exits 1 on any difference.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from tests.support.contents import contents, differences, index_file
from tests.support.edits import Editor
from tests.support.loopback import loopback_vendor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tests.support.contents import Rows

ROOT = Path(__file__).parent.parent.parent
AT_ONCE = 2
_NOTES = 24
_EDITS = 12
_SHORTLY_SECONDS = 0.004  # at most, from a point to a kill from outside: a few commits


class Mortals:
    """One interpreter that forks a process for each run."""

    def __enter__(self) -> Self:
        single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads do not fork
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.mortal"],
            cwd=ROOT,
            env={**os.environ, **single},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.communicate()

    def run(self, wanted: dict[str, object]) -> Ended:
        """Start one run and wait until it ends or is killed."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(wanted) + "\n")
        self._child.stdin.flush()
        return Ended(**json.loads(self._child.stdout.readline()))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int
    points: int
    said: str


@dataclass(frozen=True, slots=True)
class Start:
    """What a killed run starts with."""

    name: str
    home: Path | None
    """Copied for each run. None: there is no index yet."""
    points: int
    """How many an undisturbed run passes."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a run is killed."""

    number: int
    start: Start
    place: int
    after_seconds: float
    """Delay of the kill. 0 kills right before the point."""


class KillPoints:
    """The killed and the undisturbed runs over one workspace."""

    def __init__(self, folder: Path, *, environ: dict[str, str]) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        self._environ = environ
        self._expected: dict[str, Rows] = {}

    def prepare(self, mortals: Mortals, *, seed: int) -> list[Start]:
        """Make a workspace with an older index, and note what an undisturbed run ends with."""
        editor = Editor(self._workspace, seed=seed)
        editor.populate(_NOTES)
        older = self._folder / "older"
        self._undisturbed(mortals, older)
        for _ in range(_EDITS):
            editor.edit()
        starts = []
        for name, home in (("nothing", None), ("older", older)):
            own = self._begun(f"undisturbed-{name}", home)
            ended = self._undisturbed(mortals, own)
            self._expected = contents(index_file(own))
            starts.append(Start(name, home, ended.points))
        return starts

    def killed(self, mortals: Mortals, point: Point) -> tuple[bool, list[str]]:
        """Kill a run and start another; return whether the kill came in time, and what is wrong."""
        home = self._begun(f"point-{point.number}", point.start.home)
        first = mortals.run(self._wanted(home, point=point.place, after=point.after_seconds))
        second = mortals.run(self._wanted(home))
        wrong = [
            f"a run ended with {ended.code}: {ended.said}"
            for ended, codes in ((first, (0, -signal.SIGKILL)), (second, (0,)))
            if ended.code not in codes or "Traceback" in ended.said or "locked" in ended.said
        ]
        wrong = wrong or differences(self._expected, contents(index_file(home)))
        if not wrong:
            shutil.rmtree(home)
        return first.code == -signal.SIGKILL, wrong

    def _undisturbed(self, mortals: Mortals, home: Path) -> Ended:
        ended = mortals.run(self._wanted(home))
        if ended.code != 0:
            raise RuntimeError(ended.said)
        return ended

    def _begun(self, name: str, home: Path | None) -> Path:
        own = self._folder / name
        if home is not None:
            shutil.copytree(home, own)
        return own

    def _wanted(self, home: Path, *, point: int = 0, after: float = 0.0) -> dict[str, object]:
        return {
            "arguments": ["-w", str(self._workspace), "index"],
            "environ": {**self._environ, "RECOLLECT_HOME": str(home)},
            "said": f"{home}.said",
            "point": point,
            "after_seconds": after,
        }


def chosen(starts: list[Start], *, count: int, seed: int) -> Iterator[Point]:
    """Yield random points, the same for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        start = starts[number % len(starts)]
        after = chance.uniform(0, _SHORTLY_SECONDS) if chance.random() < 1 / 2 else 0.0
        yield Point(number, start, chance.randint(1, start.points), after)


def kill_points(folder: Path, *, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Kill this many runs; return what was counted and what is wrong."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    idle: SimpleQueue[Mortals] = SimpleQueue()
    with (
        loopback_vendor(folder) as environ,
        Mortals() as one,
        Mortals() as other,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        runs = KillPoints(folder, environ=environ)
        starts = runs.prepare(one, seed=seed)
        for mortals in (one, other):
            idle.put(mortals)

        def one_point(point: Point) -> tuple[Point, bool, list[str]]:
            mortals = idle.get()
            try:
                is_killed, wrong = runs.killed(mortals, point)
                if not is_killed:  # it ended first: kill it right before the point instead
                    point = replace(point, after_seconds=0.0)
                    is_killed, wrong = runs.killed(mortals, point)
                return point, is_killed, wrong
            finally:
                idle.put(mortals)

        for point, is_killed, wrong in pool.map(one_point, chosen(starts, count=count, seed=seed)):
            way = "shortly after a point" if point.after_seconds else "at a point"
            counts[
                f"killed {way}, started with {point.start.name}" if is_killed else "too late"
            ] += 1
            failures += [f"{point}: {each}" for each in wrong]
        for start in starts:
            counts[f"points of a run started with {start.name}"] = start.points
    return counts, failures


def main() -> int:
    """Run it and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="recollect-kill-") as folder:
        counts, failures = kill_points(Path(folder), count=given.count, seed=given.seed)
    for what, times in sorted(counts.items()):
        print(f"{times:8} {what}")
    for failure in failures:
        print(f"FAILED   {failure}")
    took = time.monotonic() - began
    print(f"{given.count} points in {took:.0f} s, seed {given.seed}: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
