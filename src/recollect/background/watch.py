"""Notices that files changed: by the operating system's notifications, or by looking now and then.

Only the places of a memory are watched: its workspace may hold a hundred thousand other files.
"""

from __future__ import annotations

import threading
import time
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
_STEP_MS = 50  # how long a change may go uncounted
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

        `places` is called repeatedly, since folders come and go; `on_notice` with a sentence if the
        system cannot watch. Files that a sync itself writes do not count: every sync writes the
        index, and if that is inside a watched folder, it must not cause the next one.
        """
        self._places = places
        self._on_change = on_change
        self._on_notice = on_notice
        self._pause_ms = pause_ms
        self._is_own = is_own
        self._stopped = threading.Event()
        self._notice_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._counts = {True: 0, False: 0}  # of the thread of deep places, and of the other one
        self._blind = {True, False}  # those that would not notice a change now

    @property
    def changes(self) -> int | None:
        """A number that is higher soon after each change; None if one may go unnoticed now.

        Some writes are never noticed: through a map of the file in memory, under another name of
        the same file, or by another machine. So nobody should rely on it for long.
        """
        return None if self._blind else sum(self._counts.values())

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
                links = (find_folder_link(path) for path, _, _ in wanted if is_deep)
                if link := next(filter(None, links), None):
                    self._scan(RefusedError(f"{link} is a link to a folder"))
                elif wanted:
                    self._listen(wanted, is_deep=is_deep, is_lenient=is_lenient)
                else:
                    self._blind.discard(is_deep)
                    self._stopped.wait(_WAKE_MS / 1000)
                    self._blind.add(is_deep)
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
        found = [(path, path.stat()) for path in wanted if path.exists()]
        return [(path, status.st_dev, status.st_ino) for path, status in found]

    def _listen(self, wanted: Sequence[Place], *, is_deep: bool, is_lenient: bool) -> None:
        """Report changes until stopped, or until there are other places to watch."""
        import watchfiles  # noqa: PLC0415 - only a watcher needs it

        pause = _Pause(self._pause_ms / 1000)
        places = {str(path) for path, _, _ in wanted}
        try:
            for changes in watchfiles.watch(
                *places,
                # Which of the other files count is decided in `walk`.
                watch_filter=lambda _kind, path: not self._is_own(path),
                step=min(_STEP_MS, self._pause_ms),
                debounce=min(_STEP_MS, self._pause_ms),
                rust_timeout=min(_WAKE_MS, self._pause_ms),
                yield_on_timeout=True,
                stop_event=self._stopped,
                recursive=is_deep,
                raise_interrupt=False,
                # Only if needed: it also hides that the system's limit was reached.
                ignore_permission_denied=is_lenient,
            ):
                # Changes before the system started watching are not reported: look once anyway.
                if changes or is_deep in self._blind:
                    self._counts[is_deep] += 1
                    self._blind.discard(is_deep)
                    pause.note_change()
                if pause.is_over():
                    self._on_change()
                if any(
                    kind is watchfiles.Change.added and Path(path).is_symlink()
                    for kind, path in changes
                ):
                    return  # it may lead to a folder
                # A folder that was removed and made again has its old path, and often its old
                # inode, and is not watched.
                is_gone = any(
                    kind is watchfiles.Change.deleted and path in places for kind, path in changes
                )
                if is_gone or self._wanted(is_deep=is_deep) != wanted:
                    return
        finally:
            self._blind.add(is_deep)
            if pause.is_pending:
                self._on_change()

    def _scan(self, error: Exception) -> None:
        """Report that the system cannot watch, and look now and then instead."""
        if self._notice_lock.acquire(blocking=False):  # once, not once per thread
            self._on_notice(
                f"The system cannot watch the files ({error}): they are checked every "
                f"{_SCAN_SECONDS:.0f} seconds instead."
            )
        while not self._stopped.wait(_SCAN_SECONDS):
            self._on_change()


class _Pause:
    """Tells when changes have paused, or have gone on for too long to wait for a pause."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = self._last = 0.0
        self.is_pending = False

    def note_change(self) -> None:
        self._last = time.monotonic()
        self._first = self._first if self.is_pending else self._last
        self.is_pending = True

    def is_over(self) -> bool:
        """Return whether to act on the changes now; asked again, it waits for the next ones."""
        now = time.monotonic()
        has_paused = now - self._last >= self._seconds
        is_over = self.is_pending and (has_paused or now - self._first >= self._seconds * _PATIENCE)
        self.is_pending = self.is_pending and not is_over
        return is_over
