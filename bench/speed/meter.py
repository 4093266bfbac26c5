"""Measures CPU time, with the time on the clock beside it, and starts the measured processes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
_PATIENCE_SECONDS = float(os.environ.get("BENCH_PATIENCE", "3600"))
"""A measured process that takes longer is ended: some engines stop answering."""
_NOT_FOR_THEM = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME")


class Watch:
    """Collects the CPU time and the wall time of what runs between start and stop."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self._paused = (0.0, 0.0)

    @contextmanager
    def lap(self) -> Iterator[None]:
        """Measure one run."""
        self._paused = (0.0, 0.0)
        cpu, wall = self._clock(), time.perf_counter()
        yield
        self.cpu.append(self._clock() - cpu - self._paused[0])
        self.wall.append(time.perf_counter() - wall - self._paused[1])

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave something out of the lap, such as embedding the question."""
        cpu, wall = self._clock(), time.perf_counter()
        yield
        before = self._paused
        self._paused = (
            before[0] + self._clock() - cpu,
            before[1] + time.perf_counter() - wall,
        )

    def summary(self, *, questions: int = 1) -> dict[str, float]:
        """Return milliseconds; so many questions were asked again and again in the same order."""
        return {
            **summary(self.cpu, questions=questions),
            "wall_p50": _milli(np.percentile(self.wall, 50)),
            "wall_p99": _milli(np.percentile(self.wall, 99)),
        }


def summary(cpu: Sequence[float], *, questions: int = 1) -> dict[str, float]:
    """Return milliseconds.

    `cpu` is what a quiet machine would need: the least that each question took, and of these the
    median. Neighbours that empty the caches double the time of single runs.
    """
    least = [min(cpu[place::questions]) for place in range(min(questions, len(cpu)))]
    return {
        "runs": len(cpu),
        "cpu": _milli(np.median(least)),
        "cpu_p50": _milli(np.percentile(cpu, 50)),
        "cpu_p99": _milli(np.percentile(cpu, 99)),
    }


def _milli(seconds: float) -> float:
    return round(float(seconds) * 1000, 3)


class Tree:
    """The CPU time of a process and of all that it started and that still run (Linux)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended: dict[int, float] = {}

    def cpu(self) -> float:
        """Return seconds, to the nanosecond; what a process that ended used last stays counted."""
        for pid in self._pids():
            used = 0
            for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with suppress(OSError):
                    used += int(thread.read_text("ascii").split()[0])
            # A thread that ended takes its time with it, so the most that was seen counts.
            self._ended[pid] = max(self._ended.get(pid, 0.0), used / 1e9)
        return sum(self._ended.values())

    def _pids(self) -> list[int]:
        found, waiting = [], [self._pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                with suppress(OSError):
                    waiting += map(int, children.read_text("ascii").split())
        return found


def environment(source: Path | None) -> dict[str, str]:
    """Return the environment of a measured process.

    Bytecode is kept: an installed program has it too.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_THEM}
    paths = [str(each) for each in (source, ROOT) if each]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}


class WorkerError(Exception):
    """A measured process failed."""


class Worker:
    """A measured process: a worker module with one task."""

    def __init__(
        self,
        python: Path | str,
        task: dict[str, object],
        *,
        source: Path | None = None,
        module: str = "bench.speed.worker",
    ) -> None:
        """Start it.

        Args:
            python: the interpreter, of the environment that has the engine.
            task: what the module reads.
            source: the `src` folder of another checkout to measure.
            module: the program, which prints its result as JSON.

        """
        self._begun = time.perf_counter()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with the result
        self.child = subprocess.Popen(  # noqa: S603 - our own program
            [str(python), "-m", module],
            env=environment(source),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        assert self.child.stdin is not None  # noqa: S101 - asked for above
        self.child.stdin.write(json.dumps(task))
        self.child.stdin.close()

    def result(self) -> dict[str, object]:
        """Wait for the end; return what it measured, and what the whole process used."""
        assert self.child.stdout is not None  # noqa: S101
        ended = threading.Timer(_PATIENCE_SECONDS, self.child.kill)
        ended.start()
        printed = self.child.stdout.read()
        ended.cancel()
        _, status, used = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.child.stdout.close()
        if self.child.returncode:
            self._said.seek(0)
            said = "\n".join(self._said.read().strip().splitlines()[-12:])
            raise WorkerError(
                said or f"ended with {self.child.returncode}, or was ended: no answer"
            )
        return {
            "process_cpu": round(used.ru_utime + used.ru_stime, 3),
            "process_wall": round(time.perf_counter() - self._begun, 3),
            **json.loads(printed.splitlines()[-1]),
        }


def run(
    python: Path | str,
    task: dict[str, object],
    *,
    source: Path | None = None,
    module: str = "bench.speed.worker",
) -> dict[str, object]:
    """Run one measured process to its end."""
    return Worker(python, task, source=source, module=module).result()


def peak_mb() -> float:
    """Return the most memory that this process had, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` says on Linux counts the parent's memory before `exec`
        line = next(row for row in status.read_text("ascii").splitlines() if "VmHWM" in row)
        return round(int(line.split()[1]) / 1024, 1)
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
