"""The memory that is served, its worker, and what is known of both without asking them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.shells.http.metrics import Metrics
from recollect.shells.http.refuse import RequestError
from recollect.shells.render import search as render
from recollect.shells.scopes import Held
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.async_memory import AsyncMemory
    from recollect.reports import Report, StoreStatus
    from recollect.shells.render.search import Json
    from recollect.shells.upkeep import Worker
    from recollect.types import Results

_LOG = logging.getLogger("recollect.http")
_NUMBERS_SECONDS = 10.0  # how old the numbers of the index may be that /metrics tells
_PATIENCE_SECONDS = 2.0  # that /metrics waits for newer ones


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How the last sync in the background ended."""

    report: Report | None = None
    error: RecollectError | None = None
    at: datetime | None = None
    """When that was; None while none has ended."""


class Served:
    """What endpoints work with. One a server."""

    def __init__(
        self,
        memory: AsyncMemory,
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
        self.upkeep = Upkeep()
        self._worker: Worker | None = None
        self._is_written = False
        self._is_degraded = False
        self._numbers: StoreStatus | None = None
        self._numbers_at = -_NUMBERS_SECONDS
        self._counting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the worker; the first sync is due at once."""
        self._worker = await self.memory.run(
            lambda memory: memory.worker(done=self._ended, told=_LOG.warning)
        )
        await asyncio.to_thread(self._worker.start)

    async def stop(self) -> None:
        """Stop the worker; what it did is kept."""
        if self._counting is not None:
            self._counting.cancel()
        if self._worker is not None:
            await asyncio.to_thread(self._worker.stop)
            self._worker = None

    def wake(self) -> None:
        """Have the worker sync now."""
        if self._worker is None:
            raise RequestError(
                503, "stopping", "The server is stopping.", action="Ask when it is back."
            )
        self._worker.wake()

    def _ended(self, ended: Report | RecollectError) -> None:
        """Take note, in the worker's thread, of how a sync ended."""
        now = datetime.now(tz=UTC)
        if isinstance(ended, RecollectError):
            self.upkeep = replace(self.upkeep, error=ended, at=now)
            _LOG.warning("%s %s", ended.message, ended.action)
        else:
            self.upkeep = Upkeep(report=ended, at=now)
        self._numbers_at = -_NUMBERS_SECONDS

    @property
    def state(self) -> str:
        """What the worker is at: syncing, idle, failing or stopped."""
        if self._worker is None:
            return "stopped"
        if self._worker.is_syncing or self.upkeep.at is None:
            return "syncing"
        return "failing" if self.upkeep.error else "idle"

    @property
    def wants_sync(self) -> bool:
        """Whether a search should look for changes itself: the worker has not seen the last."""
        return self._is_written or self.state != "idle"

    def note_written(self) -> None:
        """Remember that a file was written here, before the worker noticed."""
        self._is_written = True
        if self._worker is not None:
            self._worker.wake()

    def note_answered(self, results: Results, *, synced: bool) -> None:
        """Count a search."""
        if synced:
            self._is_written = False
        self._is_degraded = bool(results.degraded)
        self.metrics.searched(results.mode.value, degraded=results.degraded or {})

    def health(self) -> Json:
        """Return what a monitor asks for; nothing is touched for it."""
        if self.upkeep.at is None:
            status = "starting"
        else:
            report = self.upkeep.report
            is_degraded = self._is_degraded or self.upkeep.error or (report and report.degraded)
            status = "degraded" if is_degraded else "ok"
        return {"status": status, "version": __version__, "worker": self.state}

    def worker_json(self) -> Json:
        """Return what the worker did last."""
        error = self.upkeep.error
        return {
            "state": self.state,
            "lastReport": render.report_json(self.upkeep.report) if self.upkeep.report else None,
            "lastError": None
            if error is None
            else {"type": error.kind, "message": error.message, "action": error.action},
            "lastSyncAt": self.upkeep.at.isoformat(timespec="seconds") if self.upkeep.at else None,
        }

    async def numbers(self) -> StoreStatus | None:
        """Return how much is indexed, as of a moment ago; None while that is not known."""
        if time.monotonic() - self._numbers_at > _NUMBERS_SECONDS:
            if self._counting is None or self._counting.done():
                self._counting = asyncio.create_task(self._count())
            # A long search may be under way: then the former numbers have to do.
            await asyncio.wait([self._counting], timeout=_PATIENCE_SECONDS)
        return self._numbers

    async def _count(self) -> None:
        try:
            status = await self.memory.status()
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
            return
        self._numbers = status.store
        self._numbers_at = time.monotonic()
