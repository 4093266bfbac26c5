"""The ignore file, in the words of .gitignore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.ingest.options import WalkOptions
from recollect.ingest.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def paths(workspace: Path, *, extra_paths: tuple[str, ...] = ()) -> list[str]:
    found, failures = walk(workspace, options=WalkOptions(extra_paths=extra_paths))
    assert [] == failures
    return [each.path for each in found]


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("", ["MEMORY.md", "memory/a.md", "memory/drafts/b.md", "memory/drafts/keep.md"]),
        ("drafts/\n", ["MEMORY.md", "memory/a.md"]),
        ("/memory/drafts\n", ["MEMORY.md", "memory/a.md"]),
        ("# a comment\n\n*.md\n!MEMORY.md\n", ["MEMORY.md"]),
        (
            "memory/drafts/*\n!memory/drafts/keep.md\n",
            ["MEMORY.md", "memory/a.md", "memory/drafts/keep.md"],
        ),
        ("a.md\n", ["MEMORY.md", "memory/drafts/b.md", "memory/drafts/keep.md"]),
    ],
)
def test_what_the_file_names_is_left_out(
    workspace: Path, write: Callable[[str, str], Path], rules: str, kept: list[str]
) -> None:
    for path in ("MEMORY.md", "memory/a.md", "memory/drafts/b.md", "memory/drafts/keep.md"):
        write(path, "A note.\n")
    write(".recollectignore", rules)

    assert kept == paths(workspace)


def test_an_extra_folder_has_an_ignore_file_of_its_own(
    workspace: Path, write: Callable[[str, str], Path]
) -> None:
    write("../vault/public.md", "A note.\n")
    write("../vault/private/secret.md", "A note.\n")
    write("../vault/.recollectignore", "private/\n")
    write(".recollectignore", "public.md\n")

    assert ["../vault/public.md"] == paths(workspace, extra_paths=("../vault",))


def test_a_file_that_cannot_be_read_leaves_nothing_out_and_is_reported(workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("A note.\n", encoding="utf-8")
    (workspace / ".recollectignore").write_bytes(b"\xff\xfe\xff")

    found, failures = walk(workspace, options=WalkOptions())

    assert ["MEMORY.md"] == [each.path for each in found]
    assert ["./.recollectignore"] == [failure.path for failure in failures]
