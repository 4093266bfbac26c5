"""Noticing that files changed: the operating system's own notices, or a look now and then.

Only the places of a memory are watched, not the whole workspace, which may hold a hundred thousand
files of other kinds. It knows nothing of what a change means: it says that something changed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.ingest.walk import Watched

_PATIENCE = 10  # pauses; a file that is written without a pause is looked at after so many
_WAKE_MS = 500  # how soon a watcher notices that it was stopped
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
            places: what to watch; asked again after every change, since folders come and go.
            changed: called when something changed.
            told: called with a sentence when the system cannot watch.
            pause_ms: how long changes must have paused.

        """
        self._places = places
        self._changed = changed
        self._told = told
        self._pause_ms = pause_ms
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to watch."""
        self._stopped.clear()
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
        while not self._stopped.is_set():
            wanted = self._wanted(is_deep=is_deep)
            if not wanted:
                self._stopped.wait(_SCAN_SECONDS)
                continue
            try:
                self._listen(wanted, is_deep=is_deep)
            except FileNotFoundError:
                # A place vanished between being asked for and being watched.
                self._changed()
                self._stopped.wait(self._pause_ms / 1000)
            except (OSError, RuntimeError) as error:
                self._scan(error)

    def _wanted(self, *, is_deep: bool) -> list[Path]:
        return [
            place.path
            for place in self._places()
            if place.is_deep is is_deep and place.path.exists()
        ]

    def _listen(self, wanted: Sequence[Path], *, is_deep: bool) -> None:
        """Pass changes on until stopped, or until there are other places to watch."""
        import watchfiles  # noqa: PLC0415 - only a watcher needs it

        for _ in watchfiles.watch(
            *wanted,
            watch_filter=None,  # which files count is decided where they are walked
            step=self._pause_ms,
            debounce=self._pause_ms * _PATIENCE,
            rust_timeout=_WAKE_MS,
            stop_event=self._stopped,
            recursive=is_deep,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            self._changed()
            if self._wanted(is_deep=is_deep) != wanted:
                return

    def _scan(self, error: Exception) -> None:
        """Say that the system cannot watch, and have a look now and then instead."""
        self._told(
            f"The system cannot watch the files ({error}): they are looked through every "
            f"{_SCAN_SECONDS:.0f} seconds instead."
        )
        while not self._stopped.wait(_SCAN_SECONDS):
            self._changed()
