"""What can be told of a memory without opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect import Memory
from recollect.config.peek import peek

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


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
    assert (2, 2, True) == (seen.daily, seen.others, seen.has_facts)
    assert (True, False) == (seen.exists, seen.is_indexed)


def test_an_index_is_noticed(workspace: Path, environ: Mapping[str, str]) -> None:
    Memory.open(workspace, environ=environ).close()

    assert peek(workspace, environ=environ).is_indexed


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

    assert f"There is no folder {gone}. Name the workspace with -w." == peek(gone).trouble
    assert f"{empty} holds no memory files. Name the workspace with -w." == peek(empty).trouble
    assert peek(used).trouble is None
