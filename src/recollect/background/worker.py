"""Keeps an index fresh in its own thread: syncs at the start, after changes, and at intervals.

A stopped worker leaves no thread and no open file behind. A command that ends before its work does
leaves the rest to a process of its own: `spawn`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Protocol

from recollect.errors import RecollectError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from recollect.background.watch import Watcher
    from recollect.reports import Report
    from recollect.types import Progress, Step


_LOG = logging.getLogger(__name__)
_RETRY_SECONDS = 30.0  # after a sync that failed
_HELD_SECONDS = 1.0  # between attempts while another process is at work on the index
_LOOK_SECONDS = 1.0  # between looks whether the index is still there
_LOST = StoreError(
    "The index was deleted, replaced or emptied while it was in use.",
    action="It is rebuilt from the files now.",
)


class Syncs(Protocol):
    """What a worker syncs."""

    def sync(self, *, retry: bool, progress: Progress, on_wait: Callable[[str], None]) -> Report:
        """Bring the index into agreement with the files."""

    def has_lost_index(self) -> bool:
        """Return whether what the last sync left is gone."""


class _InterruptedError(Exception):
    """Ends a sync early: the worker has to stop, or another process is at work. Caught here."""


class Worker:
    """Syncs in the background until it is stopped."""

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Syncs]],
        *,
        watcher: Callable[[Callable[[], None]], Watcher],
        on_sync: Callable[[Report | RecollectError], None],
    ) -> None:
        """Store the parts.

        `opened` opens what is synced, in the worker's own thread: a connection belongs to one.
        `watcher` makes the watcher, given what to call after a change; `on_sync` is called with how
        each sync ended.
        """
        self._opened = opened
        self._on_sync = on_sync
        self._due = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._watcher = watcher(self._due.set)
        self._is_lost = False
        self.is_syncing = False
        """Whether a sync is running."""
        self.step: Step | None = None
        """How far it is; None before its first step."""

    def start(self) -> None:
        """Start; the first sync is due at once."""
        self._stopped.clear()
        self._due.set()
        self._thread = threading.Thread(target=self._work, name="recollect-worker", daemon=True)
        self._thread.start()
        self._watcher.start()

    def wake(self) -> None:
        """Sync now, or right after the sync that is running."""
        self._due.set()

    def stop(self) -> None:
        """Stop at the next file or answer of a running sync; what it did is kept.

        Returns when everything is released.
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
                # What cannot be opened now, because of a full disk say, may be later.
                self._on_sync(error)
                self._stopped.wait(_RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - a bug must not end the worker unseen
                _LOG.exception("A background sync failed; it will be tried again.")
                self._stopped.wait(_RETRY_SECONDS)
            # What was due when it failed is still due.
            self._due.set()

    def _serve(self, memory: Syncs) -> None:
        while True:
            self._wait(memory)
            if self._stopped.is_set():
                return
            self._due.clear()
            self.is_syncing = True
            try:
                report = memory.sync(retry=False, progress=self._go_on, on_wait=self._leave)
            except _InterruptedError:
                self._stopped.wait(_HELD_SECONDS)
                self._due.set()
            else:
                self._is_lost = False
                self._on_sync(report)
            finally:
                self.is_syncing = False

    def _wait(self, memory: Syncs) -> None:
        """Wait until a sync is due."""
        while True:
            # Also where a sync is due, which may have to wait for another process.
            if memory.has_lost_index() and not self._is_lost:
                self._is_lost = True
                self._on_sync(_LOST)
                return
            if self._due.wait(_LOOK_SECONDS):
                return

    def _go_on(self, step: Step) -> None:
        self.step = step
        if self._stopped.is_set():
            raise _InterruptedError

    def _leave(self, _sentence: str) -> None:
        """Do not wait for the other process inside the sync, where nothing could stop it."""
        raise _InterruptedError


def spawn(arguments: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Start `recollect` with these arguments, detached; return its process id.

    Keys travel in the environment, never in the arguments that a process list shows. `-P` keeps
    the current folder off the module path: it may be someone else's workspace with a `click.py`.
    """
    started = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-P", "-m", "recollect", *arguments],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # the end of this terminal is not its end
        close_fds=True,
    )
    # It outlives this process; without this the interpreter would warn that nothing waited for it.
    started.returncode = 0
    if os.name != "nt":
        # If this process outlives it, as a server does, something has to collect its exit status.
        threading.Thread(
            target=_reap, args=(started.pid,), name="recollect-spawned", daemon=True
        ).start()
    return started.pid


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
