"""The measured process: reads a task as JSON from standard input, prints what it measured as JSON.

It runs in the environment of the program, so it imports nothing but NumPy and that program.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.programs.base import Place, UnsupportedError
from bench.peers.programs.registry import open_program
from bench.speed.meter import Watch, size_of

if TYPE_CHECKING:
    from bench.peers.programs.base import Program

_WARM_UP, _SYNCS = 3, 3


def build(program: Program, questions: list[str]) -> dict[str, object]:
    """Index everything."""
    del questions
    program.open()
    cpu, wall = program.cpu_time(), time.perf_counter()
    program.build()
    found = {"cpu": program.cpu_time() - cpu, "wall": time.perf_counter() - wall}
    program.close()
    return {**found, "bytes": size_of(program.place.folder)}


def ask(program: Program, questions: list[str]) -> dict[str, object]:
    """Ask every question; the first few were asked before."""
    program.open()
    for question in questions[:_WARM_UP]:
        program.search(question, Watch(program.cpu_time))
    watch = Watch(program.cpu_time)
    found: list[list[str]] = []
    for question in questions:
        with watch.lap():
            paths = program.search(question, watch)
        found.append(paths)
    program.close()
    return {"found": found, **watch.summary(questions=len(questions))}


def first(program: Program, questions: list[str]) -> dict[str, object]:
    """Open, and answer one question: the process as a whole is measured."""
    program.open()
    found = program.search(questions[0], Watch(program.cpu_time))
    used = program.process_cpu()
    program.close()
    return {"hits": len(found), **({} if used is None else {"process_cpu": used})}


def sync(program: Program, questions: list[str]) -> dict[str, object]:
    """Look for changed files where there are none."""
    del questions
    program.open()
    watch = Watch(program.cpu_time)
    try:
        program.sync()
        for _ in range(_SYNCS):
            with watch.lap():
                program.sync()
    except UnsupportedError as why:
        return {"unsupported": str(why)}
    finally:
        program.close()
    return {"cpu": round(1000 * min(watch.cpu), 1)}


TASKS = {each.__name__: each for each in (build, ask, first, sync)}


def main() -> None:
    """Do one task."""
    task = json.load(sys.stdin)
    # Some programs print to standard output; the result is the only thing there.
    result = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    place = Place(Path(task["workspace"]), Path(task["folder"]), url=task["url"])
    found = TASKS[task["task"]](open_program(task["program"], place), task["questions"])
    print(json.dumps(found), file=result, flush=True)


if __name__ == "__main__":
    main()
