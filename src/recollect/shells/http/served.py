"""The memory that is served, its worker, and what is known of both without asking them."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.shells.http.metrics import Metrics
from recollect.shells.http.refuse import RequestError
from recollect.shells.render import search as render
from recollect.shells.scopes import Held
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.reports import StoreStatus
    from recollect.shells.render.search import Json
    from recollect.shells.serving import ServedMemory
    from recollect.types import Results

_LOG = logging.getLogger("recollect.http")
_NUMBERS_SECONDS = 10.0  # how old the numbers of the index may be that /metrics tells
_PATIENCE_SECONDS = 2.0  # that /metrics waits for newer ones


class Served:
    """What endpoints work with. One a server."""

    def __init__(
        self,
        memory: ServedMemory,
        *,
        scopes: frozenset[str] | None = None,
        is_read_only: bool = False,
        needs_token: bool = False,
        program: str = "recollect",
    ) -> None:
        """Store the parts.

        Args:
            memory: that answers.
            scopes: of facts that may ever be seen; None is all, for their owner.
            is_read_only: refuse to write or forget facts.
            needs_token: say in the description that requests need one.
            program: how commands begin that an answer proposes.

        """
        self.memory = memory
        self.held = Held(scopes)
        self.is_read_only = is_read_only
        self.needs_token = needs_token
        self.program = program
        self.began = datetime.now(tz=UTC)
        self.metrics = Metrics()
        self._is_written = False
        self._is_degraded = False
        self._numbers: StoreStatus | None = None
        self._numbers_at = -_NUMBERS_SECONDS
        self._numbers_sync: datetime | None = None
        self._counting: asyncio.Task[None] | None = None

    async def stop(self) -> None:
        """Stop counting what is indexed."""
        if self._counting is not None:
            self._counting.cancel()

    def wake(self) -> None:
        """Have the worker sync now.

        Raises:
            RecollectError: there is no worker.

        """
        if not self.memory.wake_worker():
            raise self.memory.last_sync.error or RequestError(
                503, "stopping", "The server is stopping.", action="Ask when it is back."
            )

    @property
    def wants_sync(self) -> bool:
        """Whether a search should look for changes itself: the worker has not seen the last."""
        return self._is_written or self.memory.state != "idle"

    def note_written(self) -> None:
        """Remember that a file was written here, before the worker noticed."""
        self._is_written = True
        self.memory.wake_worker()

    def note_answered(self, results: Results, *, synced: bool) -> None:
        """Count a search."""
        if synced:
            self._is_written = False
        self._is_degraded = bool(results.degraded)
        self.metrics.searched(results.mode.value, degraded=results.degraded or {})

    def health(self) -> Json:
        """Return what a monitor asks for; nothing is touched for it."""
        last = self.memory.last_sync
        if last.at is None:
            status = "starting"
        else:
            is_degraded = self._is_degraded or last.error or (last.report and last.report.degraded)
            status = "degraded" if is_degraded else "ok"
        return {"status": status, "version": __version__, "worker": self.memory.state}

    def worker_json(self) -> Json:
        """Return what the worker did last."""
        last = self.memory.last_sync
        error = last.error
        return {
            "state": self.memory.state,
            "lastReport": render.report_json(last.report) if last.report else None,
            "lastError": None
            if error is None
            else {"type": error.kind, "message": error.message, "action": error.action},
            "lastSyncAt": last.at.isoformat(timespec="seconds") if last.at else None,
        }

    async def numbers(self) -> StoreStatus | None:
        """Return how much is indexed, as of a moment ago; None while that is not known."""
        is_old = time.monotonic() - self._numbers_at > _NUMBERS_SECONDS
        if is_old or self._numbers_sync != self.memory.last_sync.at:
            if self._counting is None or self._counting.done():
                self._counting = asyncio.create_task(self._count())
            # A long search may be under way: then the former numbers have to do.
            await asyncio.wait([self._counting], timeout=_PATIENCE_SECONDS)
        return self._numbers

    async def _count(self) -> None:
        synced_at = self.memory.last_sync.at
        try:
            status = await self.memory.run(lambda memory: memory.status())
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
            return
        self._numbers = status.store
        self._numbers_at = time.monotonic()
        self._numbers_sync = synced_at
