"""What a watcher notices, also of places that come late or come back, and when it cannot watch."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, Self

import pytest
import watchfiles

from recollect.background import watch
from recollect.background.watch import Watcher
from recollect.ingest.walk import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    Eventually = Callable[[Callable[[], object]], None]


class Watching:
    """A watcher at work on one folder, and how often it said that something changed."""

    def __init__(self, folder: Path, eventually: Eventually) -> None:
        self._eventually = eventually
        self.changes = 0
        self.told: list[str] = []
        self._watcher = Watcher(
            lambda: [Watched(folder, is_deep=True)],
            on_change=self._count,
            on_notice=self.told.append,
            pause_ms=50,
        )

    def await_more_than(self, changes: int) -> None:
        self._eventually(lambda: self.changes > changes)

    def _count(self) -> None:
        self.changes += 1

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watcher.stop()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert "recollect-watch" not in {thread.name for thread in threading.enumerate()}


def test_what_happened_before_the_system_began_to_watch_is_looked_at(
    tmp_path: Path, eventually: Eventually
) -> None:
    with Watching(tmp_path, eventually) as watching:
        eventually(lambda: watching.changes == 1)


def test_a_change_deep_inside_is_noticed(tmp_path: Path, eventually: Eventually) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with Watching(tmp_path, eventually) as watching:
        eventually(lambda: watching.changes == 1)

        (tmp_path / "a" / "b" / "note.md").write_text("x", encoding="utf-8")

        eventually(lambda: watching.changes > 1)


def test_a_folder_that_comes_later_is_watched_from_then_on(
    tmp_path: Path, eventually: Eventually
) -> None:
    folder = tmp_path / "memory"
    with Watching(folder, eventually) as watching:
        folder.mkdir()
        eventually(lambda: watching.changes)
        before = watching.changes

        (folder / "note.md").write_text("x", encoding="utf-8")

        eventually(lambda: watching.changes > before)


def test_a_folder_removed_and_made_again_is_watched_again(
    tmp_path: Path, eventually: Eventually
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    with Watching(folder, eventually) as watching:
        eventually(lambda: watching.changes)
        for turn in range(3):
            before = watching.changes
            shutil.rmtree(folder)
            folder.mkdir()
            watching.await_more_than(before)
            before = watching.changes

            (folder / f"note-{turn}.md").write_text("x", encoding="utf-8")

            watching.await_more_than(before)


def test_another_folder_renamed_into_the_place_is_watched(
    tmp_path: Path, eventually: Eventually
) -> None:
    folder, other = tmp_path / "memory", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    with Watching(folder, eventually) as watching:
        eventually(lambda: watching.changes)
        before = watching.changes
        folder.rename(tmp_path / "former")
        other.rename(folder)
        watching.await_more_than(before)
        before = watching.changes

        (folder / "note.md").write_text("x", encoding="utf-8")

        watching.await_more_than(before)


def test_where_the_system_cannot_watch_it_says_so_once_and_looks_now_and_then(
    tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: Path, **_options: object) -> None:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", refuse)
    monkeypatch.setattr(watch, "_SCAN_SECONDS", 0.01)
    both = [Watched(tmp_path, is_deep=True), Watched(tmp_path, is_deep=False)]
    changes: list[int] = []
    told: list[str] = []
    watcher = Watcher(
        lambda: both, on_change=lambda: changes.append(1), on_notice=told.append, pause_ms=50
    )
    watcher.start()

    eventually(lambda: len(changes) > 3)
    watcher.stop()

    assert 1 == len(told)
    assert "OS file watch limit reached" in told[0]
    assert "are checked every" in told[0]


def test_a_place_that_cannot_be_asked_for_does_not_end_the_watch(
    eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_SCAN_SECONDS", 0.01)
    changes: list[int] = []

    def forbidden() -> list[Watched]:
        raise PermissionError(13, "Permission denied")

    watcher = Watcher(
        forbidden, on_change=lambda: changes.append(1), on_notice=lambda _: None, pause_ms=50
    )
    watcher.start()

    eventually(lambda: changes)
    watcher.stop()


def test_a_folder_that_may_not_be_read_does_not_keep_the_others_from_being_watched(
    tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    watch_for_real = watchfiles.watch

    def guarded(*paths: str, **options: object) -> Iterator[object]:
        asked.append(options["ignore_permission_denied"])
        if not options["ignore_permission_denied"]:
            raise PermissionError(13, "Permission denied")
        yield from watch_for_real(*paths, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(watchfiles, "watch", guarded)
    with Watching(tmp_path, eventually) as watching:
        eventually(lambda: watching.changes)
        before = watching.changes

        (tmp_path / "note.md").write_text("x", encoding="utf-8")

        watching.await_more_than(before)
    assert [False, True] == asked
    assert [] == watching.told


def test_an_index_inside_a_watched_folder_does_not_lead_from_one_sync_to_the_next(
    tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters: list[Callable[[object, str], bool]] = []
    watch_for_real = watchfiles.watch

    def seen(*paths: str, **options: object) -> Iterator[object]:
        filters.append(options["watch_filter"])  # type: ignore[arg-type]  # ours
        yield from watch_for_real(*paths, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(watchfiles, "watch", seen)
    with Watching(tmp_path, eventually) as watching:
        eventually(lambda: watching.changes)
    [is_news] = filters

    assert is_news(None, "/memory/note.md")
    assert is_news(None, "/memory/folder")
    assert not any(is_news(None, f"/memory/home/index.sqlite{end}") for end in ("", "-wal", "-shm"))


@pytest.mark.parametrize("target", ["/", "memory", "outside"])
def test_a_link_to_a_folder_is_not_watched_but_told(
    tmp_path: Path, eventually: Eventually, target: str
) -> None:
    folder = tmp_path / "memory"
    (folder / ".hidden").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / ".hidden/away").symlink_to(tmp_path / target)

    with Watching(folder, eventually) as watching:
        eventually(lambda: watching.told)

    assert [True] == ["away is a link to a folder" in told for told in watching.told]


def test_links_that_lead_to_each_other_do_not_keep_it_busy(
    tmp_path: Path, eventually: Eventually
) -> None:
    for number in range(40):
        folder = tmp_path / f"memory/{number}"
        folder.mkdir(parents=True)
        for name in ("left", "right"):
            (folder / name).symlink_to(f"../{number + 1}")

    with Watching(tmp_path / "memory", eventually) as watching:
        eventually(lambda: watching.told)


def test_a_link_to_a_folder_that_comes_later_ends_the_watching(
    tmp_path: Path, eventually: Eventually
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (tmp_path / "outside").mkdir()

    with Watching(folder, eventually) as watching:
        watching.await_more_than(0)
        (folder / "note.md").symlink_to("missing.md")
        (folder / "away").symlink_to(tmp_path / "outside")
        eventually(lambda: watching.told)

    assert "away is a link to a folder" in watching.told[0]
