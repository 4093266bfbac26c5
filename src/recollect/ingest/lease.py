"""Holding the writer's lease: taken, kept alive by a heartbeat, taken over from the dead.

Whoever does long work on an index holds it. Another process waits, or leaves the work to the
holder, and can say who that is. Reading never needs it.
"""

from __future__ import annotations

import contextvars
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import StoreBusyError, StoreError
from recollect.stores.base import Holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.stores.base import Leases, SharedStore
    from recollect.types import Progress, Step

WRITER = "writer"
_BEAT_SECONDS = 5.0
_SILENT_SECONDS = (
    30.0  # a holder on this machine that is dead is noticed at once; this is for hung ones
)
_ASK_AGAIN_SECONDS = 0.2


class LeaseLostError(Exception):
    """Another process took the lease over. Never leaves the background: the work is begun anew."""


class WriterLease:
    """One process's claim to do the long work on an index."""

    def __init__(self, store: SharedStore, *, purpose: str) -> None:
        self._store = store
        self._purpose = purpose
        self._token = ""
        self._ended = threading.Event()
        self._heart: threading.Thread | None = None
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """True when another process took over: this one was silent for too long."""
        return self._is_lost

    def acquire(
        self,
        *,
        wait_seconds: float | None,
        told: Callable[[Holder], None] = lambda _holder: None,
    ) -> Holder | None:
        """Take the lease; return who holds it instead, when the wait was in vain.

        Args:
            wait_seconds: how long to wait for another holder; None is for ever.
            told: is called once with the holder that is waited for.

        Raises:
            StoreError: the index cannot be written.

        """
        leases = self._store.leases()
        started = time.monotonic()
        was_told = False
        try:
            while (holder := self._take(leases)) is not None:
                if wait_seconds is not None and time.monotonic() - started >= wait_seconds:
                    return holder
                if not was_told:
                    told(holder)
                    was_told = True
                time.sleep(_ASK_AGAIN_SECONDS)
        finally:
            leases.close()
        self._start_heart()
        return None

    def release(self) -> None:
        """Give the lease back; harmless when it is not held."""
        if self._heart is None:
            return
        self._ended.set()
        self._heart.join()
        self._heart = None

    def guarded(self, progress: Progress) -> Progress:
        """Return a progress that ends the work it is told of once the lease is lost.

        A process that was stopped for a while, by a signal or a laptop's lid, finds another one at
        its work: two of them would do everything twice.
        """

        def check(step: Step) -> None:
            if self._is_lost:
                raise LeaseLostError
            progress(step)

        return check

    def _take(self, leases: Leases) -> Holder | None:
        try:
            return leases.take(WRITER, self._claim(), is_gone=is_gone)
        except StoreBusyError:
            # A transaction that does not end, of a stopped process say: reading needs no turn.
            holder = leases.holder(WRITER)
            if holder is None:
                raise
            return holder

    def _claim(self) -> Holder:
        now = time.time()
        self._token = uuid.uuid4().hex
        return Holder(self._token, self._purpose, os.getpid(), socket.gethostname(), now, now)

    def _start_heart(self) -> None:
        self._ended.clear()
        self._is_lost = False
        # In the caller's context: who is in a hurry does not wait long to give the lease back.
        live = contextvars.copy_context().run
        self._heart = threading.Thread(
            target=live, args=(self._live,), name="recollect-lease", daemon=True
        )
        self._heart.start()

    def _live(self) -> None:
        # A connection belongs to one thread: the heart has its own.
        leases = self._store.leases()
        try:
            while not self._ended.wait(_BEAT_SECONDS):
                self._beat(leases)
                if self._is_lost:
                    return
            leases.give_back(WRITER, token=self._token)
        except StoreError:
            # The index cannot be written: whoever works on it finds that out and reports it. A
            # lease that could not be given back lapses, as that of a silent holder does.
            self._is_lost = True
        finally:
            leases.close()

    def _beat(self, leases: Leases) -> None:
        try:
            self._is_lost = not leases.beat(WRITER, token=self._token, now=time.time())
        except StoreBusyError:
            return  # a long transaction, maybe our own: the next beat tells


def is_gone(holder: Holder) -> bool:
    """Tell whether a holder died or fell silent, so that its lease may be taken over."""
    if time.time() - holder.beat > _SILENT_SECONDS:
        return True
    return holder.host == socket.gethostname() and not _is_alive(holder.pid)


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # asking Windows this way would end the process; silence decides there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Tell whether a process ended and only waits for its parent to notice, where that shows."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]
