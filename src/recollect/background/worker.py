"""Keeping an index fresh from a thread of its own: sync at the start, after changes, on time.

Start and stop are explicit; a stopped worker has left no thread and no open file behind.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from recollect.background.watch import Watcher
    from recollect.reports import Report

_RETRY_SECONDS = 30.0  # after a sync that failed


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """When a worker syncs."""

    debounce_ms: int = 1500
    """After a pause in the changes this long."""
    interval_minutes: int = 0
    """And this often besides; 0 is never."""


class Syncs(Protocol):
    """What a worker works on."""

    def sync(self, *, retry: bool) -> Report:
        """Bring the index into agreement with the files."""


class Worker:
    """Syncs in the background until it is stopped."""

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Syncs]],
        *,
        watcher: Callable[[Callable[[], None]], Watcher],
        done: Callable[[Report | RecollectError], None],
        interval_seconds: float = 0.0,
    ) -> None:
        """Store the parts.

        Args:
            opened: opens what is synced, in the worker's own thread: a connection belongs to one.
            watcher: makes the watcher that is to call back when something changed.
            done: is told how each sync ended.
            interval_seconds: also sync this often; 0 is only after changes.

        """
        self._opened = opened
        self._done = done
        self._interval_seconds = interval_seconds
        self._due = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._watcher = watcher(self._due.set)

    def start(self) -> None:
        """Begin: the first sync is due at once."""
        self._stopped = False
        self._due.set()
        self._thread = threading.Thread(target=self._work, name="recollect-worker", daemon=True)
        self._thread.start()
        self._watcher.start()

    def stop(self) -> None:
        """Stop after the sync that is under way; returns when all is released."""
        self._stopped = True
        self._due.set()
        self._watcher.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while not self._stopped:
            try:
                with self._opened() as memory:
                    self._serve(memory)
            except RecollectError as error:
                # What cannot be opened now, a full disk or a file in the way, may be later.
                self._done(error)
                self._sleep(_RETRY_SECONDS)

    def _serve(self, memory: Syncs) -> None:
        wait: float | None = 0.0
        while True:
            due = self._due.wait(wait)
            if self._stopped:
                return
            self._due.clear()
            if due or wait:
                # What a holder of the lease is to embed is its business; files come first.
                self._done(memory.sync(retry=False))
            wait = self._interval_seconds or None

    def _sleep(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while not self._stopped and time.monotonic() < ends_at:
            self._due.wait(0.2)
            if not self._stopped:
                self._due.clear()
                time.sleep(0.1)
