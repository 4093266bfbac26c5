"""Keeping an index fresh from a thread of its own: sync at the start, after changes, on time.

Start and stop are explicit; a stopped worker has left no thread and no open file behind.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recollect.errors import RecollectError
from recollect.text.setting import setting, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from recollect.background.watch import Watcher
    from recollect.reports import Report
    from recollect.types import Progress, Step

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 30.0  # after a sync that failed
_HELD_SECONDS = 1.0  # between attempts while another process is at work on the index


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """When a worker syncs."""

    interval_minutes: int = setting(
        "sync.interval_minutes", 0, whole(0, 10_080), "watch: also sync this often; 0: never"
    )
    debounce_ms: int = setting(
        "watch.debounce_ms", 1500, whole(50, 600_000), "watch: wait for a pause this long"
    )


class Syncs(Protocol):
    """What a worker works on."""

    def sync(self, *, retry: bool, progress: Progress, told: Callable[[str], None]) -> Report:
        """Bring the index into agreement with the files."""


class _InterruptedError(Exception):
    """A sync ended early: the worker is to stop, or another process is at work. Never gets out."""


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
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._watcher = watcher(self._due.set)
        self.is_syncing = False
        """Whether a sync is under way, for those who watch it."""

    def start(self) -> None:
        """Begin: the first sync is due at once."""
        self._stopped.clear()
        self._due.set()
        self._thread = threading.Thread(target=self._work, name="recollect-worker", daemon=True)
        self._thread.start()
        self._watcher.start()

    def wake(self) -> None:
        """Sync now, or right after the sync that is under way."""
        self._due.set()

    def stop(self) -> None:
        """Stop at the next file or answer of the sync that is under way; what it did is kept.

        Returns when all is released.
        """
        self._stopped.set()
        self._due.set()
        self._watcher.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._opened() as memory:
                    self._serve(memory)
            except RecollectError as error:
                # What cannot be opened now, a full disk or a file in the way, may be later.
                self._done(error)
                self._stopped.wait(_RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - a mistake of ours must not end the watch unseen
                _LOG.exception("A sync in the background failed; it is tried again.")
                self._stopped.wait(_RETRY_SECONDS)
            # What was due when it failed still is.
            self._due.set()

    def _serve(self, memory: Syncs) -> None:
        while True:
            self._due.wait(self._interval_seconds or None)
            if self._stopped.is_set():
                return
            self._due.clear()
            self.is_syncing = True
            try:
                report = memory.sync(retry=False, progress=self._go_on, told=self._leave)
            except _InterruptedError:
                self._stopped.wait(_HELD_SECONDS)
                self._due.set()
            else:
                self._done(report)
            finally:
                self.is_syncing = False

    def _go_on(self, _step: Step) -> None:
        if self._stopped.is_set():
            raise _InterruptedError

    def _leave(self, _sentence: str) -> None:
        """Do not wait for the other process in there, where nobody could stop it."""
        raise _InterruptedError
