"""The questions of the golden tests have the same answers in every store."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


GOLDEN = Path(__file__).parent.parent / "golden" / "cases"
SAMPLE = GOLDEN.parent.parent.parent / "examples" / "workspace"
SHOWN = 10
ALONE = {"worktrees": False}
"""A worktree of this repository would also search the notes of its main checkout."""
EVERY = 1 if os.environ.get("ALL_QUESTIONS") else 4
"""Which of the questions are asked; `make test-postgres` asks all of them."""
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"path": "memory/**"},
    {"since": date(2026, 1, 1)},
    {"source": "memory"},
)


def questions() -> list[str]:
    asked = [
        json.loads(line)["query"]
        for file in sorted(GOLDEN.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return asked[::EVERY]


@pytest.fixture(scope="module")
def memories(
    address: str,
    tmp_path_factory: pytest.TempPathFactory,
    fill_home: Callable[[Path], None],
) -> Iterator[dict[str, Memory]]:
    home = tmp_path_factory.mktemp("home")
    fill_home(home)
    environ = {
        "HOME": str(tmp_path_factory.mktemp("user")),
        "RECOLLECT_HOME": str(home),
    }
    agent = tmp_path_factory.mktemp("agent").parent.name + "-same-answers"
    opened = {
        kind: Memory.open(SAMPLE, environ=environ, agent=agent, settings={"store": kind, **ALONE})
        for kind in ("file:", "ram:", address)
    }
    engine = {"store": "file:", "vector.engine": "sqlite-vec", **ALONE}
    own = f"{agent}-vec"  # a file of its own
    opened["sqlite-vec"] = Memory.open(SAMPLE, environ=environ, agent=own, settings=engine)
    for memory in opened.values():
        memory.sync()
    yield opened
    for memory in opened.values():
        memory.close()


def answer(memory: Memory, question: str, **filters: Any) -> list[tuple[object, ...]]:
    results = memory.search(question, max_results=SHOWN, sync=False, **filters)
    return [
        (hit.path, hit.start_line, hit.end_line, hit.snippet, pytest.approx(hit.score, abs=1e-6))
        for hit in results.hits
    ]


def test_every_store_gives_the_same_ten_hits(memories: dict[str, Memory]) -> None:
    expected = memories["file:"]
    asked = questions()

    assert len(asked) * EVERY > 100
    for question in asked:
        wanted = answer(expected, question)
        for kind, memory in memories.items():
            assert wanted == answer(memory, question), (kind, question)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_every_store_filters_alike(memories: dict[str, Memory], filters: dict[str, Any]) -> None:
    for question in questions()[::10]:
        wanted, *others = (answer(memory, question, **filters) for memory in memories.values())

        assert [wanted] * len(others) == others, question


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ('monthly drill "restored file"', ()),
        ('monthly drill "unheard of file"', ("unheard of file",)),
        ('monthly drill "restored file" "unheard of file"', ("unheard of file",)),
    ],
)
def test_every_store_drops_the_phrases_that_occur_nowhere(
    memories: dict[str, Memory], question: str, wanted: tuple[str, ...]
) -> None:
    first, *others = (answer(memory, question) for memory in memories.values())
    dropped = [
        tuple(notice.split('"')[1] for notice in memory.search(question, sync=False).notices)
        for memory in memories.values()
    ]

    assert first
    assert [first] * len(others) == others
    assert [wanted] * len(memories) == dropped
