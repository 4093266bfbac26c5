"""A search in a process that stays looks at files only if something changed, and then at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.ingest import sync
from recollect.ingest.source import NotesSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.ingest.walk import Found
    from recollect.reports import Failure

    Write = Callable[[str, str], Path]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the events of Linux")


@pytest.fixture
def memory(
    workspace: Path, environ: dict[str, str], each_store: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    # As long as the test runs, whatever the hour.
    monkeypatch.setattr(sync, "TRUSTED_SECONDS", 1e9)
    settings = {"provider": "none", "store": each_store}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        opened.count_changes()
        yield opened


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each time that the files were looked at."""
    found: list[object] = []
    find = NotesSource.find

    def counted(self: NotesSource) -> tuple[list[Found], list[Failure]]:
        found.append(self)
        return find(self)

    monkeypatch.setattr(NotesSource, "find", counted)
    return found


def paths(memory: Memory, question: str) -> list[str]:
    return [hit.path for hit in memory.search(question).hits]


def test_files_are_looked_at_only_after_a_change(
    memory: Memory, write: Write, walks: list[object]
) -> None:
    write("memory/a.md", "apple\n")
    for _ in range(2):  # the first stores it, so the second looks again
        assert ["memory/a.md"] == paths(memory, "apple")
    looked = len(walks)
    assert looked > 0

    assert ["memory/a.md"] == paths(memory, "apple")
    assert looked == len(walks)

    write("memory/deep/b.md", "pear\n")
    assert ["memory/deep/b.md"] == paths(memory, "pear")
    assert looked < len(walks)


def test_what_is_said_about_files_is_said_each_time(memory: Memory, write: Write) -> None:
    write("memory/a.md", "apple\n")
    (write("memory/b.md", "pear\n")).write_bytes(b"\xff\xfe\x00")

    said = [memory.search("apple").notices for _ in range(3)]

    assert said[0]
    assert said[0] == said[1] == said[2]


def test_a_store_that_another_memory_changed_is_looked_at(
    memory: Memory, write: Write, workspace: Path, environ: dict[str, str], each_store: str
) -> None:
    if each_store == "ram:":
        pytest.skip("no other memory can change it")
    write("memory/a.md", "apple\n")
    for _ in range(3):
        paths(memory, "apple")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as other:
        other.reset()

    assert ["memory/a.md"] == paths(memory, "apple")


def test_after_a_while_files_are_looked_at_anyway(
    memory: Memory, write: Write, walks: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("memory/a.md", "apple\n")
    for _ in range(3):
        paths(memory, "apple")
    looked = len(walks)
    monkeypatch.setattr(sync, "TRUSTED_SECONDS", 1e-9)

    paths(memory, "apple")

    assert looked < len(walks)
