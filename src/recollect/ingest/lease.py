"""The writer's lease: taken before long work, kept alive by a heartbeat, taken over from the dead.

Another process waits, or leaves the work to the holder. Reading never needs it. It is a promise
among processes, not a lock: the store itself lets one transaction write at a time.
"""

from __future__ import annotations

import contextvars
import os
import platform
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import StoreBusyError, StoreError
from recollect.stores.base import Holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.stores.base import Store
    from recollect.types import Progress, Step

WRITER = "writer"
PATIENCE_SECONDS = 2.0
"""How long a search waits for another writer; storing a document takes milliseconds."""
_BEAT_SECONDS = 5.0
_SILENT_SECONDS = 30.0  # for holders that hang; a dead one on this machine is noticed at once
_ASK_AGAIN_SECONDS = 0.2


class LeaseLostError(Exception):
    """Another process took the lease over. Never leaves `ingest`: the work is started again."""


class WriterLease:
    """One process's claim to do the long work on a store."""

    def __init__(self, store: Store, *, purpose: str) -> None:
        self._store = store
        self._purpose = purpose
        self._token = ""
        self._ended = threading.Event()
        self._heart: threading.Thread | None = None
        self._is_lost = False
        self._is_claimed = False
        self.holder: Holder | None = None
        """Another process that is working on the store, as far as `is_granted` was told."""

    def is_granted(self) -> bool:
        """Claim the lease once, without waiting; return whether no other process is at work."""
        if not self._is_claimed:
            self.holder = self.acquire()
            self._is_claimed = True
        return self.holder is None

    def acquire(self, *, on_wait: Callable[[Holder], None] | None = None) -> Holder | None:
        """Take the lease; return its holder, or wait for it if `on_wait` is to be told once."""
        is_waiting = False
        while (holder := self._take()) is not None:
            if on_wait is None:
                return holder
            if not is_waiting:
                on_wait(holder)
                is_waiting = True
            time.sleep(_ASK_AGAIN_SECONDS)
        self._start_heart()
        return None

    def release(self) -> None:
        """Give the lease back; harmless if it is not held."""
        if self._heart is None:
            return
        self._ended.set()
        self._heart.join()
        self._heart = None

    def guarded(self, progress: Progress) -> Progress:
        """Return a progress callback that ends the work once the lease is lost.

        A process that was suspended wakes up to find another one doing its work: both would do it.
        """

        def check(step: Step) -> None:
            if self._is_lost:
                raise LeaseLostError
            progress(step)

        return check

    def _take(self) -> Holder | None:
        try:
            return take(self._store, self._claim(), is_gone=is_gone)
        except StoreBusyError:
            # A transaction that does not end, of a suspended process say: reading still works.
            holder = self._store.lease(WRITER, lambda held: held)
            if holder is None:
                raise
            return holder

    def _claim(self) -> Holder:
        now = time.time()
        self._token = uuid.uuid4().hex
        return Holder(self._token, self._purpose, os.getpid(), platform.node(), now, now)

    def _start_heart(self) -> None:
        self._ended.clear()
        self._is_lost = False
        # In the caller's context: a caller with little patience also has little when releasing.
        run = contextvars.copy_context().run
        heart = threading.Thread(
            target=run, args=(self._beat_until_released,), name="recollect-lease", daemon=True
        )
        heart.start()  # fails without memory for it: then there is nothing to wait for
        self._heart = heart

    def _beat_until_released(self) -> None:
        try:
            while not self._ended.wait(_BEAT_SECONDS):
                self._beat()
                if self._is_lost:
                    return
            give_back(self._store, token=self._token)
        except StoreError:
            # The store cannot be written: the work itself finds that out and reports it. A lease
            # that could not be given back lapses like that of a silent holder.
            self._is_lost = True

    def _beat(self) -> None:
        try:
            self._is_lost = not beat(self._store, token=self._token, now=time.time())
        except StoreBusyError:
            return  # a long transaction, maybe our own: the next beat tells


def take(store: Store, wanted: Holder, *, is_gone: Callable[[Holder], bool]) -> Holder | None:
    """Take the lease, unless a holder who is not gone has it; return that holder."""

    def decide(held: Holder | None) -> Holder:
        return wanted if held is None or is_gone(held) else held

    after = store.lease(WRITER, decide)
    return None if after == wanted else after


def beat(store: Store, *, token: str, now: float) -> bool:
    """Record a heartbeat; return False if another process has taken the lease over."""

    def decide(held: Holder | None) -> Holder | None:
        return replace(held, beat=now) if held and held.token == token else held

    after = store.lease(WRITER, decide)
    return after is not None and after.token == token


def give_back(store: Store, *, token: str) -> None:
    """Release the lease, if this token still holds it."""
    store.lease(WRITER, lambda held: None if held and held.token == token else held)


def at_work(store: Store) -> str | None:
    """Return who is doing long work on a store, in words; None if nobody is."""
    holder = store.lease(WRITER, lambda held: held)
    return None if holder is None or is_gone(holder) else describe(holder)


def describe(holder: Holder) -> str:
    """Return who holds a lease, in words."""
    seconds = max(time.time() - holder.since, 0)
    return f"{holder.purpose} (process {holder.pid}, for {seconds:.0f} s)"


def is_gone(holder: Holder) -> bool:
    """Return whether a holder died or fell silent, so that its lease may be taken over."""
    if time.time() - holder.beat > _SILENT_SECONDS:
        return True
    return holder.host == platform.node() and not _is_alive(holder.pid)


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
    """Return whether a process has ended but its parent has not noticed, where the OS shows it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]
