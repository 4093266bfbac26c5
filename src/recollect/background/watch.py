"""Notices that files changed: by the operating system's notifications, or by looking now and then.

Only the places of a memory are watched, not the whole workspace, which may hold a hundred thousand
other files. It does not know what a change means, only that something changed.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.ingest.folders import find_folder_link
from recollect.stores.registry import is_store_file
from recollect.text.confined import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.ingest.walk import Watched

    Place = tuple[Path, int, int]
    """A path, and which file it is: its device and inode."""

_PATIENCE = 10  # pauses after which a file that is written without a pause is read
_WAKE_MS = 500  # how soon a watcher notices that it was stopped or that a place was replaced
_SCAN_SECONDS = 5.0  # between looks if the system cannot notify


class Watcher:
    """Watches places in its own threads and calls back after a pause in the changes."""

    def __init__(
        self,
        places: Callable[[], Sequence[Watched]],
        *,
        on_change: Callable[[], None],
        on_notice: Callable[[str], None],
        pause_ms: int,
        is_own: Callable[[str], bool] = is_store_file,
    ) -> None:
        """Store the arguments.

        Args:
            places: returns what to watch; called repeatedly, since folders come and go.
            on_change: called when something changed, or may have.
            on_notice: called with a sentence if the system cannot watch.
            pause_ms: how long changes must have paused.
            is_own: tells whether a sync itself writes a file, by its path. Every sync writes the
                index: if that is inside a watched folder, it must not cause the next sync.

        """
        self._places = places
        self._on_change = on_change
        self._on_notice = on_notice
        self._pause_ms = pause_ms
        self._is_own = is_own
        self._stopped = threading.Event()
        self._notice_lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start watching."""
        self._stopped.clear()
        self._notice_lock = threading.Lock()
        self._threads = [
            threading.Thread(
                target=self._watch, args=(is_deep,), name="recollect-watch", daemon=True
            )
            for is_deep in (True, False)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop watching; returns when its threads have ended."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _watch(self, is_deep: bool) -> None:  # noqa: FBT001 - a thread's only argument
        is_lenient = False
        while not self._stopped.is_set():
            try:
                wanted = self._wanted(is_deep=is_deep)
                link = _find_link(wanted) if is_deep else None
                if link is not None:
                    self._scan(RefusedError(f"{link} is a link to a folder"))
                elif wanted:
                    self._listen(wanted, is_deep=is_deep, is_lenient=is_lenient)
                else:
                    self._stopped.wait(_WAKE_MS / 1000)
            except FileNotFoundError:
                # A place vanished before it could be watched.
                self._on_change()
                self._stopped.wait(self._pause_ms / 1000)
            except PermissionError as error:
                if is_lenient:
                    self._scan(error)
                is_lenient = True
            except (OSError, RuntimeError) as error:
                self._scan(error)

    def _wanted(self, *, is_deep: bool) -> list[Place]:
        wanted = [place.path for place in self._places() if place.is_deep is is_deep]
        return [_place(path) for path in wanted if path.exists()]

    def _listen(self, wanted: Sequence[Place], *, is_deep: bool, is_lenient: bool) -> None:
        """Report changes until stopped, or until there are other places to watch."""
        import watchfiles  # noqa: PLC0415 - only a watcher needs it

        is_first = True
        places = {str(path) for path, _, _ in wanted}
        for changes in watchfiles.watch(
            *places,
            # Which of the other files count is decided in `walk`.
            watch_filter=lambda _kind, path: not self._is_own(path),
            step=self._pause_ms,
            debounce=self._pause_ms * _PATIENCE,
            rust_timeout=_WAKE_MS,
            yield_on_timeout=True,
            stop_event=self._stopped,
            recursive=is_deep,
            raise_interrupt=False,
            # Only if needed: it also hides that the system's limit was reached.
            ignore_permission_denied=is_lenient,
        ):
            # Changes before the system started watching are not reported: look once anyway.
            if changes or is_first:
                self._on_change()
            is_first = False
            if any(
                kind is watchfiles.Change.added and Path(path).is_symlink()
                for kind, path in changes
            ):
                return  # it may lead to a folder
            # A folder that was removed and made again has its old path, and often its old inode,
            # and is not watched.
            is_gone = any(
                kind is watchfiles.Change.deleted and path in places for kind, path in changes
            )
            if is_gone or self._wanted(is_deep=is_deep) != wanted:
                return

    def _scan(self, error: Exception) -> None:
        """Report that the system cannot watch, and look now and then instead."""
        if self._notice_lock.acquire(blocking=False):  # once, not once per thread
            self._on_notice(
                f"The system cannot watch the files ({error}): they are checked every "
                f"{_SCAN_SECONDS:.0f} seconds instead."
            )
        while not self._stopped.wait(_SCAN_SECONDS):
            self._on_change()


def _find_link(places: Sequence[Place]) -> str | None:
    """Return a link to a folder in one of the places; None if they can be watched."""
    return next(filter(None, (find_folder_link(path) for path, _, _ in places)), None)


def _place(path: Path) -> Place:
    status = path.stat()
    return path, status.st_dev, status.st_ino
