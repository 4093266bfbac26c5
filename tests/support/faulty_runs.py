"""Runs `recollect` commands on a disk that fails on demand. Each is a fork of one interpreter.

usage: python -m tests.support.faulty_runs     reads one run per line as JSON, answers how it ended

Needs Linux and a C compiler: faulty_disk.c is built and preloaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import apsw
from tests.support.fork_server import SCRIPT, load_everything, run_main

if TYPE_CHECKING:
    from types import TracebackType

    from tests.support.fault_kinds import Kind

ROOT = Path(__file__).parent.parent.parent
_SOURCE = Path(__file__).parent / "faulty_disk.c"
MOST_SECONDS = 60.0
"""A run that takes longer hangs."""
_HANGS = 124  # the exit code of a run that was ended for that


def can_build() -> bool:
    """Tell whether this system has what is needed."""
    return sys.platform == "linux" and shutil.which("cc") is not None


@dataclass(frozen=True, slots=True)
class Call:
    """What a run asked of the system."""

    name: str
    doing: int
    path: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended."""

    code: int
    said: str
    """What it printed, errors included."""
    calls: int
    failed: int
    """How many of the calls failed."""
    made: tuple[Call, ...] = ()
    """Each call, if they were asked for."""

    @property
    def hangs(self) -> bool:
        """True if the run did not end by itself."""
        return self.code == _HANGS


class FaultyRuns:
    """The interpreter that forks the runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        """Holds the library and what the runs print."""

    def __enter__(self) -> Self:
        library = self._folder / "faulty_disk.so"
        build = ["cc", "-O1", "-w", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
        subprocess.run(build, check=True)
        single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads do not fork
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.faulty_runs"],
            cwd=ROOT,
            env={**os.environ, **single, "LD_PRELOAD": str(library)},
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

    def run(
        self,
        arguments: list[str],
        *,
        environ: dict[str, str],
        watched: Path,
        kind: Kind | None = None,
        number: int = 0,
        journal: Path | None = None,
        wants_calls: bool = False,
    ) -> Ended:
        """Run a command and wait for its end.

        Args:
            arguments: of the command.
            environ: its environment.
            watched: only calls on files in this folder count.
            kind: how a call fails; None lets all succeed.
            number: which call that is, counted from 1.
            journal: every change is appended to this file.
            wants_calls: list the calls.

        """
        names = self._folder / "names" if wants_calls else None
        wanted = {
            "arguments": arguments,
            "environ": environ,
            "watched": f"{watched}/",
            "said": str(self._folder / "said"),
            "names": names and str(names),
            "journal": journal and str(journal),
            "target": number,
            "how": [kind.code, kind.way, kind.lasts_for] if kind else [0, 0, 0],
            "spare_bytes": kind and kind.spare_bytes,
            "heap_bytes": kind and kind.heap_bytes,
        }
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(wanted) + "\n")
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline())
        made = names.read_text(encoding="utf-8").splitlines() if names else ()
        return Ended(**answer, made=tuple(map(_call, made)))


def _call(line: str) -> Call:
    name, doing, path = line.split("\t")
    return Call(name, int(doing), path)


def answer(wanted: dict[str, object]) -> dict[str, object]:
    """Fork a run and return how it ended."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _be_the_run(wanted, tell=tell)
    os.close(tell)
    ready, _, _ = select.select([told], [], [], MOST_SECONDS)
    counts = os.read(told, 100).split() if ready else []
    os.close(told)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    calls, failed = map(int, counts) if counts else (0, 0)
    said = Path(str(wanted["said"])).read_text(encoding="utf-8", errors="replace")
    code = os.waitstatus_to_exitcode(status) if ready else _HANGS
    return {"code": code, "said": said, "calls": calls, "failed": failed}


def _be_the_run(wanted: dict[str, object], *, tell: int) -> None:
    """Run the command in this process, which ends with it."""
    code = 1
    disk = ctypes.CDLL(None)
    disk.disk_count.restype = disk.disk_failed.restype = ctypes.c_long
    try:
        said = _opened(wanted["said"], os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.environ.clear()
        os.environ.update(dict(wanted["environ"]))  # type: ignore[call-overload]  # from JSON
        sys.argv[:] = [SCRIPT, *wanted["arguments"]]  # type: ignore[misc]
        disk.disk_arm(
            str(wanted["watched"]).encode(),
            ctypes.c_long(int(str(wanted["target"]))),
            *wanted["how"],  # type: ignore[misc]
            _opened(wanted["names"], os.O_TRUNC),
            _opened(wanted["journal"], os.O_APPEND),
        )
        _limit_memory(wanted)
        code = run_main()
        sys.stdout.flush()
        disk.disk_mark(f"ended {code}".encode())
    finally:
        disk.disk_disarm()
        sys.stderr.flush()
        os.write(tell, f"{disk.disk_count()} {disk.disk_failed()}".encode())
        os._exit(code)


def _limit_memory(wanted: dict[str, object]) -> None:
    if wanted["spare_bytes"] is not None:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + int(str(wanted["spare_bytes"]))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if wanted["heap_bytes"] is not None:
        apsw.hard_heap_limit(int(str(wanted["heap_bytes"])))


def _opened(path: object, flags: int) -> int:
    return -1 if path is None else os.open(str(path), os.O_CREAT | os.O_WRONLY | flags, 0o600)


def main() -> None:
    """Answer until standard input is closed."""
    load_everything()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
