"""Noticing that files changed: the operating system's own notices, or a look now and then.

Only the places of a memory are watched, not the whole workspace, which may hold a hundred thousand
files of other kinds. It knows nothing of what a change means: it says that something changed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from recollect.stores.registry import is_store_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.ingest.walk import Watched

    Place = tuple[Path, int, int]
    """A path, and which folder or file is there: its device and its number on it."""

_PATIENCE = 10  # pauses; a file that is written without a pause is looked at after so many
_WAKE_MS = 500  # how soon a watcher notices that it was stopped, or that a place is another one
_SCAN_SECONDS = 5.0  # between looks, where the system gives no notices


class Watcher:
    """Watches places from threads of its own and calls back after a pause in the changes."""

    def __init__(
        self,
        places: Callable[[], Sequence[Watched]],
        *,
        changed: Callable[[], None],
        told: Callable[[str], None],
        pause_ms: int,
    ) -> None:
        """Store what to watch and whom to tell.

        Args:
            places: what to watch; asked again and again, since folders come and go.
            changed: called when something changed, or may have.
            told: called with a sentence when the system cannot watch.
            pause_ms: how long changes must have paused.

        """
        self._places = places
        self._changed = changed
        self._told = told
        self._pause_ms = pause_ms
        self._stopped = threading.Event()
        self._was_told = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to watch."""
        self._stopped.clear()
        self._was_told = threading.Lock()
        self._threads = [
            threading.Thread(
                target=self._watch, args=(is_deep,), name="recollect-watch", daemon=True
            )
            for is_deep in (True, False)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop watching; returns when nothing watches any more."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _watch(self, is_deep: bool) -> None:  # noqa: FBT001 - a thread's only argument
        is_lenient = False
        while not self._stopped.is_set():
            try:
                wanted = self._wanted(is_deep=is_deep)
                if wanted:
                    self._listen(wanted, is_deep=is_deep, is_lenient=is_lenient)
                else:
                    self._stopped.wait(_WAKE_MS / 1000)
            except FileNotFoundError:
                # A place vanished between being asked for and being watched.
                self._changed()
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
        """Pass changes on until stopped, or until there are other places to watch."""
        import watchfiles  # noqa: PLC0415 - only a watcher needs it

        is_first = True
        places = {str(path) for path, _, _ in wanted}
        for changes in watchfiles.watch(
            *places,
            watch_filter=_is_foreign,
            step=self._pause_ms,
            debounce=self._pause_ms * _PATIENCE,
            rust_timeout=_WAKE_MS,
            yield_on_timeout=True,
            stop_event=self._stopped,
            recursive=is_deep,
            raise_interrupt=False,
            # Only where it must be: it makes the library silent about the system's limit, too.
            ignore_permission_denied=is_lenient,
        ):
            # What happened before the system began to watch is in no notice: once, look anyway.
            if changes or is_first:
                self._changed()
            is_first = False
            # A folder that was removed and made again has its old path, and often its old number,
            # and nobody watches it.
            is_gone = any(
                kind is watchfiles.Change.deleted and path in places for kind, path in changes
            )
            if is_gone or self._wanted(is_deep=is_deep) != wanted:
                return

    def _scan(self, error: Exception) -> None:
        """Say that the system cannot watch, and have a look now and then instead."""
        if self._was_told.acquire(blocking=False):  # once, not once a thread
            self._told(
                f"The system cannot watch the files ({error}): they are looked through every "
                f"{_SCAN_SECONDS:.0f} seconds instead."
            )
        while not self._stopped.wait(_SCAN_SECONDS):
            self._changed()


def _is_foreign(_kind: object, path: str) -> bool:
    """Tell whether a change can be news; which files count is decided where they are walked.

    An index inside a watched folder is written by every sync: that would lead to the next one.
    """
    return not is_store_file(path)


def _place(path: Path) -> Place:
    status = path.stat()
    return path, status.st_dev, status.st_ino
