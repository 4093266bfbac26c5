"""Embeds what was pushed: any number of workers take memories from one queue.

A claim is renewed while its worker lives; that of a killed one is free after half a minute, and
what it embedded is stored. The writer's lease of the memory keeps two workers from doing the same
work even if one of them was only suspended.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING

from recollect.errors import ElsewhereError, RecollectError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.hosting.host import MemoryHost
    from recollect.reports import Report
    from recollect.stores.postgres.host import PostgresHost
    from recollect.stores.pushed import Claim
    from recollect.types import Step

CLAIM_SECONDS = 30.0
"""How long a claim lasts unless it is renewed."""
SLICE_TEXTS = 64
"""Texts of one memory that are embedded before the next one's turn: about a second's work."""
_RENEW_SECONDS = CLAIM_SECONDS / 4
_LOOK_SECONDS = 1.0  # between two looks into an empty queue
_HELD_SECONDS = 2.0  # before a memory is tried again that another process is at work on
_RETRY_SECONDS = 5.0  # after a failure; doubled by each in a row
_MOST_RETRY_SECONDS = 300.0
_LOG = logging.getLogger(__name__)


class _LeftError(Exception):
    """Ends a sync early. Caught here."""


class QueueWorker:
    """Works through the queue in its own thread until it is stopped."""

    def __init__(
        self,
        host: MemoryHost,
        *,
        on_sync: Callable[[str, Report | RecollectError], None] = lambda _agent, _ended: None,
    ) -> None:
        """Store the arguments; `on_sync` is called with each memory and how its sync ended."""
        self._host = host
        self._on_sync = on_sync
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._work, name="recollect-queue", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop at the next document or answer; the memory at hand is due again at once."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def work_once(self) -> bool:
        """Bring one memory of the queue up to date; return False if none waits."""
        queue = self._host.database
        claim = queue.claim(seconds=CLAIM_SECONDS)
        if claim is None:
            return False
        self._bring_up_to_date(claim, queue)
        return True

    def _work(self) -> None:
        while not self._stopped.is_set():
            seconds = _LOOK_SECONDS
            try:
                if self.work_once():
                    seconds = 0.0
            except StoreError as error:
                _LOG.warning("%s %s", error.message, error.action)
                seconds = _RETRY_SECONDS
            except Exception:  # noqa: BLE001 - a bug must not end the worker unseen
                _LOG.exception("A memory could not be updated; it will be tried again.")
                seconds = _RETRY_SECONDS
            self._stopped.wait(seconds)

    def _bring_up_to_date(self, claim: Claim, queue: PostgresHost) -> None:
        """Sync a memory, and say when it is due again; others come between its slices."""
        retry_seconds = min(_RETRY_SECONDS * 2.0 ** min(claim.failures, 10), _MOST_RETRY_SECONDS)
        try:
            with (
                self._renewing(claim) as go_on,
                self._host.memory(claim.agent, purpose="recollect server worker") as memory,
            ):
                report = memory.sync(
                    retry=claim.failures > 0,
                    max_texts=SLICE_TEXTS,
                    progress=go_on,
                    on_wait=_leave_to_holder,
                )
        except _LeftError:
            queue.put_off(claim, seconds=0.0 if self._stopped.is_set() else _HELD_SECONDS)
        except ElsewhereError:
            queue.finish(claim)  # its files are on another machine, which embeds them
        except RecollectError as error:
            self._on_sync(claim.agent, error)
            queue.put_off(claim, seconds=retry_seconds)
        else:
            self._on_sync(claim.agent, report)
            if not report.degraded and report.pending <= report.refused:
                queue.finish(claim)
            elif not report.degraded and report.embedded + report.reused:
                queue.requeue(claim)
            else:
                queue.put_off(claim, seconds=retry_seconds)

    @contextlib.contextmanager
    def _renewing(self, claim: Claim) -> Iterator[Callable[[Step], None]]:
        """Renew a claim in a thread; yields a progress callback that ends work on a lost one."""
        ended, lost = threading.Event(), threading.Event()

        def renew() -> None:
            while not ended.wait(_RENEW_SECONDS):
                try:
                    if not self._host.database.renew(claim, seconds=CLAIM_SECONDS):
                        lost.set()
                        return
                except StoreError as error:  # the next renewal may succeed
                    _LOG.warning("%s %s", error.message, error.action)

        def go_on(_step: Step) -> None:
            if lost.is_set() or self._stopped.is_set():
                raise _LeftError

        heart = threading.Thread(target=renew, name="recollect-claim", daemon=True)
        heart.start()
        try:
            yield go_on
        finally:
            ended.set()
            heart.join()


def _leave_to_holder(_sentence: str) -> None:
    """Do not wait for another process that is at work on the memory: others are due."""
    raise _LeftError
