"""What the counter of changes hears of, at once, and when it says that it cannot tell."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect.background.changes import ChangeCounter
from recollect.ingest.walk import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the events of Linux")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "notes" / "2026"
    below.mkdir(parents=True)
    (below / "today.md").write_text("# Today\n", encoding="utf-8")
    return tmp_path / "notes"


@pytest.fixture
def counter(folder: Path) -> Iterator[ChangeCounter]:
    found = ChangeCounter(
        lambda: [Watched(folder, is_deep=True)] if folder.exists() else [],
        is_own=lambda path: path.endswith(".sqlite"),
    )
    yield found
    found.close()


def _replace_file(folder: Path) -> None:
    (folder / "new").write_text("# New\n", encoding="utf-8")
    (folder / "new").replace(folder / "2026" / "today.md")


def _write_in_new_folder(folder: Path) -> None:
    (folder / "2027").mkdir()
    (folder / "2027" / "first.md").write_text("# First\n", encoding="utf-8")


def _swap_folder(folder: Path) -> None:
    folder.rename(folder.with_name("before"))
    shutil.copytree(folder.with_name("before"), folder)


CHANGES: list[Callable[[Path], object]] = [
    lambda folder: (folder / "2026" / "today.md").write_text("# Other\n", encoding="utf-8"),
    lambda folder: (folder / "2026" / "today.md").unlink(),
    lambda folder: (folder / "2026" / "today.md").rename(folder / "other.md"),
    lambda folder: (folder / "2026" / "today.md").chmod(0),
    lambda folder: (folder / "2026").rename(folder / "2025"),
    lambda folder: shutil.rmtree(folder / "2026"),
    _replace_file,
    _write_in_new_folder,
    _swap_folder,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_heard_of_at_once_and_counted_once(
    counter: ChangeCounter, folder: Path, change: Callable[[Path], object]
) -> None:
    before = counter.count()
    assert before is not None
    assert before == counter.count()

    change(folder)

    after = counter.count()
    assert after is not None
    assert after > before
    assert after == counter.count()


def test_a_folder_that_was_made_later_is_watched(counter: ChangeCounter, folder: Path) -> None:
    counter.count()
    (folder / "a" / "b").mkdir(parents=True)
    before = counter.count()

    (folder / "a" / "b" / "c.md").write_text("# C\n", encoding="utf-8")

    assert before != counter.count()


def test_files_that_a_sync_writes_do_not_count(counter: ChangeCounter, folder: Path) -> None:
    before = counter.count()

    (folder / "index.sqlite").write_bytes(b"x")

    assert before == counter.count()


@pytest.mark.parametrize("counted_before", [0, 1])
def test_beside_a_link_there_is_no_telling(
    counter: ChangeCounter, folder: Path, tmp_path: Path, counted_before: int
) -> None:
    for _ in range(counted_before):
        assert counter.count() is not None

    (folder / "link.md").symlink_to(tmp_path / "elsewhere.md")

    assert counter.count() is None


def test_on_a_file_system_that_others_change_there_is_no_telling() -> None:
    counter = ChangeCounter(lambda: [Watched(Path("/proc/self"), is_deep=False)])

    assert counter.count() is None


def test_after_its_end_there_is_no_telling(counter: ChangeCounter) -> None:
    assert counter.count() is not None

    counter.close()

    assert counter.count() is None
