"""What can be told of a memory without opening it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect import Memory
from recollect.config.peek import peek

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest


def test_notes_are_counted_by_their_names(
    write: Callable[[str, str], Path], workspace: Path, environ: Mapping[str, str]
) -> None:
    write("MEMORY.md", "# Memory\n")
    write("memory/2026-02-07.md", "One.\n")
    write("memory/2026-01-05-boat.md", "Two.\n")
    write("memory/projects/lantern.md", "Three.\n")
    write("memory/facts/fact.md", "- A fact.\n")
    write("memory/.hidden.md", "Not told.\n")

    seen = peek(workspace, environ=environ)

    assert ("2026-01-05", "2026-02-07") == seen.days
    assert (2, 2) == (seen.daily, seen.others)
    assert (True, False) == (seen.exists, seen.is_indexed)


def test_notes_of_a_folder_without_a_memory_are_counted_at_any_depth(
    write: Callable[[str, str], Path], workspace: Path, environ: Mapping[str, str]
) -> None:
    (workspace / "memory").rmdir()
    write("journal/2026/2026-02-07.md", "One.\n")
    write("people/ada.md", "Two.\n")
    write(".trash/gone.md", "Not told.\n")

    seen = peek(workspace, environ=environ)

    assert (1, 1, None) == (seen.daily, seen.others, seen.trouble)


def test_what_is_indexed_is_counted_wherever_it_is(
    write: Callable[[str, str], Path],
    workspace: Path,
    environ: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for day in (1, 2, 3):
        write(f"elsewhere/2026-01-0{day}.md", "A day.\n")
    settings = {"extra_paths": ["elsewhere"], "provider": "none"}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        memory.sync()
        monkeypatch.delitem(sys.modules, "apsw")  # as in a process that has opened nothing yet
        seen = peek(workspace, environ=environ)
    closed = peek(workspace, environ=environ)

    assert (3, 0, True) == (seen.daily, seen.others, seen.is_indexed)
    assert (3, ("2026-01-01", "2026-01-03")) == (closed.daily, closed.days)


def test_a_folder_that_is_not_there_is_told_of_as_such(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    seen = peek(tmp_path / "nowhere", environ=environ)

    assert (False, (), 0, 0) == (seen.exists, seen.days, seen.daily, seen.others)


def test_a_folder_that_is_most_likely_the_wrong_one_is_named(tmp_path: Path) -> None:
    gone, empty, used = tmp_path / "gone", tmp_path / "empty", tmp_path / "used"
    empty.mkdir()
    used.mkdir()
    (used / "MEMORY.md").write_text("# Me\n", encoding="utf-8")

    assert f"There is no folder {gone}. Name the folder" in str(peek(gone).trouble)
    assert f"{empty} has no Markdown files. Name the folder" in str(peek(empty).trouble)
    assert peek(used).trouble is None
