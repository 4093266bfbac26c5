"""Commands that die at a chosen point. Each is a fork of one interpreter with all modules loaded.

usage: python -m tests.support.mortal     reads one run per line as JSON, answers how it ended

A point is the N-th SQL statement or file operation of a run; with `only`, the N-th operation of
that kind. Some runs kill themselves right before
it. Others are killed from outside shortly after it, wherever they are then: in the middle of a
commit, say. A run without a point reports how many there are.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import httpx  # noqa: F401 - everything a run needs is loaded once, before the forks
from tests.support.waiting import PATIENCE_SECONDS

import recollect.memory
import recollect.providers.openai
import recollect.shells.cli.index
import recollect.shells.render.status  # noqa: F401
from recollect.shells.cli import cli, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FILE_OPERATIONS = frozenset({"open", "os.scandir", "os.listdir", "os.mkdir", "os.rename"})


def answer(wanted: Mapping[str, object]) -> dict[str, object]:
    """Fork a run, kill it at its point, and return how it ended and what it printed."""
    said = Path(str(wanted["said"]))
    reached, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reached)
        _be_the_run(wanted, said=said, tell=tell)
    os.close(tell)
    told = _read_until_point(reached)
    if told == b"!":
        time.sleep(float(str(wanted["after_seconds"])))
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    told += _read_until_point(reached)
    os.close(reached)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "points": int(told.strip(b"!") or 0),
        "said": said.read_text(encoding="utf-8"),
    }


def _read_until_point(reached: int) -> bytes:
    """Return what the run reports: a mark at its point, or the number of points at its end."""
    ready, _, _ = select.select([reached], [], [], PATIENCE_SECONDS)
    return os.read(reached, 100) if ready else b"!"


def _be_the_run(wanted: Mapping[str, object], *, said: Path, tell: int) -> None:
    """Run the command in this process, which ends with it."""
    code = 1
    try:
        file = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.environ.clear()
        os.environ.update(dict(wanted["environ"]))  # type: ignore[call-overload]  # from JSON
        point = int(str(wanted["point"]))
        ending = _ending(point, tell=tell, is_own=not wanted["after_seconds"])
        counted = _count_points(ending, only=wanted.get("only"))
        code = run(cli, [str(part) for part in wanted["arguments"]])  # type: ignore[attr-defined]
        sys.stdout.flush()
        os.write(tell, str(counted()).encode())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _ending(point: int, *, tell: int, is_own: bool) -> Callable[[int], None]:
    def reach(number: int) -> None:
        if number == point and is_own:
            os.kill(os.getpid(), signal.SIGKILL)
        elif number == point:
            os.write(tell, b"!")

    return reach


def _count_points(reach: Callable[[int], None], *, only: object) -> Callable[[], int]:
    """Call `reach` at every point from now on; return a function that counts them."""
    numbers = itertools.count(1)
    last = 0

    def passed() -> None:
        nonlocal last
        last = next(numbers)
        reach(last)

    def trace(*_statement: object) -> bool:
        passed()
        return True

    def audit(event: str, _arguments: tuple[object, ...]) -> None:
        if event == only or (only is None and event in _FILE_OPERATIONS):
            passed()

    if only is None:
        apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(trace))
    sys.addaudithook(audit)
    return lambda: last


def main() -> None:
    """Answer until standard input is closed."""
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
