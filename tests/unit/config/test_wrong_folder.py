"""A folder that is probably the wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.load import wrong_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_that_is_most_likely_the_wrong_one_is_named(tmp_path: Path) -> None:
    gone, empty, used, deep = (tmp_path / name for name in ("gone", "empty", "used", "deep"))
    empty.mkdir()
    used.mkdir()
    (used / "MEMORY.md").write_text("# Me\n", encoding="utf-8")
    (deep / "a" / "b").mkdir(parents=True)
    (deep / "a" / "b" / "note.md").write_text("# Note\n", encoding="utf-8")

    assert f"There is no folder {gone}. Name the folder" in str(wrong_folder(gone))
    assert f"{empty} has no Markdown files. Name the folder" in str(wrong_folder(empty))
    assert wrong_folder(used) is None
    assert wrong_folder(deep) is None
