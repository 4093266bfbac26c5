"""The measured process: reads a task as JSON from standard input, prints what it measured as JSON.

It runs in the environment of the engine, so it imports nothing but NumPy and that engine.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from bench.speed.asks import ASKS, Ask, Legs, UnsupportedError
from bench.speed.corpus import Shape
from bench.speed.engines.base import Place
from bench.speed.engines.registry import open_engine
from bench.speed.meter import Watch, peak_mb, size_of, summary

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.corpus import Question
    from bench.speed.engines.base import Engine

    Asked: TypeAlias = tuple[Question, npt.NDArray[np.float32]]

_WARM_UP, _LEAST_RUNS = 3, 5
_PATIENCE = 3
"""Times the budget that a way to ask may take if fewer than the least runs fit into it."""


@runtime_checkable
class WritesFacts(Protocol):
    """Recollect."""

    def write_facts(self) -> None:
        """Write the ledger of the workspace."""


@runtime_checkable
class HasParts(Protocol):
    """Recollect, whose store is measured apart."""

    def measure_parts(self) -> None:
        """Measure parts of each search from now on."""


def build(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Index everything."""
    del task
    engine.place.folder.mkdir(parents=True, exist_ok=True)
    cpu, wall = engine.cpu_time(), time.perf_counter()
    parts = engine.build()
    used = engine.cpu_time() - cpu - (0 if engine.reads_files else _making(engine))
    return {
        "cpu": round(used, 3),
        "wall": round(time.perf_counter() - wall, 3),
        "parts": {name: round(seconds, 3) for name, seconds in parts.items()},
        "bytes": size_of(engine.place.folder),
    }


def _making(engine: Engine) -> float:
    """Return the CPU seconds that making the documents takes: others find them as files."""
    begun = time.process_time()
    for _ in engine.corpus.documents():
        pass
    return time.process_time() - begun


def facts(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Write the facts of the corpus into its workspace."""
    del task
    assert isinstance(engine, WritesFacts)  # noqa: S101 - the caller names the engine
    engine.write_facts()
    return {}


def cold(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Open, and answer one question: the process as a whole is measured."""
    del task
    (asked,) = engine.questions(1)
    watch = Watch(engine.cpu_time)
    with watch.lap():
        engine.open()
    with watch.lap():
        found = _search_best(engine, asked, watch)
    engine.close()
    opened, first = watch.cpu
    used = engine.process_cpu()
    return {
        **({} if used is None else {"process_cpu": round(used, 3)}),
        "open_cpu": round(opened * 1000, 3),
        "first_cpu": round(first * 1000, 3),
        "found": len(found),
    }


def _search_best(engine: Engine, asked: Asked, watch: Watch) -> list[str]:
    for legs in (Legs.HYBRID, Legs.VECTOR, Legs.KEYWORD):
        try:
            return engine.search(*asked, Ask("first", legs), watch)
        except UnsupportedError:
            continue
    return []


def warm(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Ask every question in every way, in one process."""
    count, passes = int(task["count"]), int(task["passes"])  # type: ignore[call-overload]
    budget = float(task["seconds"])  # type: ignore[arg-type]
    questions = engine.questions(count)
    engine.open()
    found: dict[str, object] = {}
    for ask in ASKS:
        if task.get("asks") and ask.name not in task["asks"]:  # type: ignore[operator]
            continue
        watch, hits, right, begun = Watch(engine.cpu_time), 0, 0, engine.cpu_time()
        try:
            for number in range(-_WARM_UP, count * passes):
                if number == 0:
                    watch, hits, right = Watch(engine.cpu_time), 0, 0
                question, vector = questions[number % count]
                with watch.lap():
                    got = engine.search(question, vector, ask, watch)
                hits += len(got)
                right += any(name.startswith(question.path) for name in got)
                used = engine.cpu_time() - begun
                if used > (budget if len(watch.cpu) >= _LEAST_RUNS else _PATIENCE * budget):
                    break
        except UnsupportedError as why:
            found[ask.name] = {"unsupported": str(why)}
            continue
        runs = len(watch.cpu)
        found[ask.name] = {
            **watch.summary(questions=count),
            "hits": round(hits / runs, 2),
            "right": round(right / runs, 3),  # the file that the question was made of is among them
        }
    parts = _parts(engine, questions * passes, budget=budget, count=count)
    engine.close()
    return {"asks": found, "parts": parts}


def _parts(engine: Engine, questions: list[Asked], *, budget: float, count: int) -> object:
    """Return what the parts of a hybrid search take, in a run of its own."""
    if not isinstance(engine, HasParts):
        return {}
    engine.measure_parts()
    watch, begun = Watch(engine.cpu_time), time.process_time()
    for question, vector in questions:
        with watch.lap():
            engine.search(question, vector, Ask("hybrid"), watch)
        if time.process_time() - begun > budget:
            break
    parts = engine.parts()
    rest = [whole - sum(part) for whole, *part in zip(watch.cpu, *parts.values(), strict=False)]
    return {
        name: summary(times, questions=count)
        for name, times in {**parts, "rest": rest}.items()
        if times
    }


def change(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Change documents one at a time, delete some, and look for changes where there are none."""
    runs = int(task["runs"])  # type: ignore[call-overload]
    engine.open()
    corpus, documents = engine.corpus, engine.place.shape.documents
    numbers = [(7919 * place + 13) % documents for place in range(runs)]
    updated, removed, none = Watch(engine.cpu_time), Watch(engine.cpu_time), Watch(engine.cpu_time)
    try:
        if numbers:
            engine.update(corpus.document(numbers[0], version=2))
            for number in numbers:
                made = corpus.document(number, version=1)
                with updated.lap():
                    engine.update(made)
        for number in numbers:
            made = corpus.document(number)
            with removed.lap():
                engine.remove(made)
        found: dict[str, object] = {"update": updated.summary(), "remove": removed.summary()}
    except UnsupportedError as why:
        found = {"update": {"unsupported": str(why)}, "remove": {"unsupported": str(why)}}
    finally:
        _restore(engine, numbers)
    try:
        engine.refresh()
        for _ in range(3):
            with none.lap():
                engine.refresh()
        found["no-op"] = {**none.summary(), "files": documents}
    except UnsupportedError as why:
        found["no-op"] = {"unsupported": str(why)}
    engine.close()
    return found


def _restore(engine: Engine, numbers: list[int]) -> None:
    """Write the files as they were: other engines read them too."""
    for number in numbers if engine.reads_files else ():
        document = engine.corpus.document(number)
        file = engine.place.workspace / document.path
        file.write_text(document.markdown, encoding="utf-8")


def read(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Ask for some seconds, beside other processes."""
    seconds, first = float(task["seconds"]), int(task["first"])  # type: ignore[arg-type, call-overload]
    questions = engine.questions(64)
    engine.open()
    _search_best(engine, questions[first % 64], Watch(engine.cpu_time))
    watch, begun, number = Watch(engine.cpu_time), time.perf_counter(), first
    while time.perf_counter() - begun < seconds:
        with watch.lap():
            _search_best(engine, questions[number % 64], watch)
        number += 1
    engine.close()
    took = time.perf_counter() - begun
    return {**watch.summary(), "per_second": round(len(watch.cpu) / took, 2)}


def write(engine: Engine, task: dict[str, object]) -> dict[str, object]:
    """Change documents for some seconds, beside readers."""
    seconds = float(task["seconds"])  # type: ignore[arg-type]
    engine.open()
    watch, begun, numbers = Watch(engine.cpu_time), time.perf_counter(), []
    while time.perf_counter() - begun < seconds:
        number = (104_729 * len(numbers) + 5) % engine.place.shape.documents
        made = engine.corpus.document(number, version=3 + len(numbers))
        numbers.append(number)
        with watch.lap():
            engine.update(made)
    _restore(engine, numbers)
    engine.close()
    return watch.summary()


TASKS = {each.__name__: each for each in (build, facts, cold, warm, change, read, write)}


def main() -> None:
    """Do one task."""
    task = json.load(sys.stdin)
    place = Place(
        Shape(**task["shape"]),
        workspace=Path(task["workspace"]),
        vectors=Path(task["vectors"]),
        questions=Path(task["questions"]),
        folder=Path(task["folder"]),
    )
    engine = open_engine(task["engine"], place)
    found = TASKS[task["task"]](engine, task)
    print(json.dumps({**found, "peak_mb": None if engine.is_elsewhere else peak_mb()}))


if __name__ == "__main__":
    main()
