"""A search in a process with a worker looks at files only if something changed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.background import worker
from recollect.ingest import sync
from recollect.ingest.source import NotesSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.ingest.folders import Found
    from recollect.reports import Failure

    Write = Callable[[str, str], Path]


@pytest.fixture
def memory(
    workspace: Path,
    environ: dict[str, str],
    each_store: str,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Memory]:
    write("memory/a.md", "apple\n")  # before anything is watched
    # As long as the test runs, whatever the hour.
    monkeypatch.setattr(sync, "TRUSTED_SECONDS", 1e9)
    monkeypatch.setattr(worker, "_LOOK_SECONDS", PATIENCE_SECONDS)
    settings = {"provider": "none", "store": each_store, "watch.debounce_ms": 50}
    has_synced = threading.Event()
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        working = opened.worker(on_sync=lambda _: has_synced.set(), on_notice=lambda _: None)
        working.start()
        has_synced.wait(PATIENCE_SECONDS)
        yield opened
        working.stop()


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each time that a search looked at the files."""
    found: list[object] = []
    find = NotesSource.find

    def counted(self: NotesSource) -> tuple[list[Found], list[Failure]]:
        if threading.current_thread() is threading.main_thread():  # not the worker
            found.append(self)
        return find(self)

    monkeypatch.setattr(NotesSource, "find", counted)
    return found


def paths(memory: Memory, question: str) -> list[str]:
    return [hit.path for hit in memory.search(question).hits]


def test_files_are_looked_at_only_after_a_change(
    memory: Memory, write: Write, walks: list[object]
) -> None:
    wait_until(lambda: _is_settled(memory, walks))

    assert [["memory/a.md"]] * 20 == [paths(memory, "apple") for _ in range(20)]
    assert [] == walks

    write("memory/deep/b.md", "pear\n")
    wait_until(lambda: ["memory/deep/b.md"] == paths(memory, "pear"))


def test_a_fact_that_was_just_saved_is_found(memory: Memory, walks: list[object]) -> None:
    wait_until(lambda: _is_settled(memory, walks))

    memory.facts.remember("The kettle is green.")

    assert 1 == len(memory.search("kettle").hits)


def _is_settled(memory: Memory, walks: list[object]) -> bool:
    """Return whether a search has no reason to look at files any more."""
    walks.clear()
    memory.search("apple")
    return not walks


def test_what_is_said_about_files_is_said_each_time(memory: Memory, write: Write) -> None:
    (write("memory/b.md", "pear\n")).write_bytes(b"\xff\xfe\x00")

    said = [memory.search("apple").notices for _ in range(3)]

    assert said[0]
    assert said[0] == said[1] == said[2]


def test_a_store_that_another_memory_changed_is_looked_at(
    memory: Memory,
    walks: list[object],
    workspace: Path,
    environ: dict[str, str],
    each_store: str,
) -> None:
    if each_store == "ram:":
        pytest.skip("no other memory can change it")
    wait_until(lambda: _is_settled(memory, walks))
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as other:
        other.reset()

    assert ["memory/a.md"] == paths(memory, "apple")


def test_after_a_while_files_are_looked_at_anyway(
    memory: Memory, walks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until(lambda: _is_settled(memory, walks))
    monkeypatch.setattr(sync, "TRUSTED_SECONDS", 1e-9)

    paths(memory, "apple")

    assert walks
