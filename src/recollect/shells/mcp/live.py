"""The memory behind a server that is never in its way: opened in the background, and kept fresh.

A server answers who it is before its memory is open, and goes on when the memory cannot be opened:
each call tries again, and says what is wrong in the meantime.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import (
    RecollectError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreTooNewError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.async_memory import AsyncMemory
    from recollect.memory import Memory
    from recollect.reports import Report
    from recollect.shells.mcp.offer import Offer
    from recollect.shells.upkeep import Worker

Answer = TypeVar("Answer")

CALL_SECONDS = 30.0
"""As long as OpenClaw lets a tool take."""
CLOSE_SECONDS = 5.0
"""How long what is under way may take to end."""
_STANDING = (StoreBusyError, StoreFullError, StoreReadOnlyError, StoreTooNewError)
"""Trouble that opening the index anew does not mend."""
_FREE = ("auto", "local", "multilingual")
"""Providers that may be asked without need: it costs nothing."""
_LOG = logging.getLogger(__name__)


class SlowError(RecollectError):
    """What was asked takes longer than a call may."""

    kind = "timeout"


class LiveMemory:
    """The memory of one server. Start it, run things on it, close it."""

    def __init__(self, offer: Offer, *, call_seconds: float = CALL_SECONDS) -> None:
        self.scopes = offer.scopes
        self._offer = offer
        self._call_seconds = call_seconds
        self._loop = asyncio.get_running_loop()
        self._opening: asyncio.Task[AsyncMemory] | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._is_closed = False
        self._is_synced = asyncio.Event()
        self._notices: tuple[str, ...] = ()
        self.report: Report | RecollectError | None = None
        """How the last sync in the background ended; None before the first has."""

    def start(self) -> None:
        """Begin to open the memory; nobody waits for it."""
        self._preparing = asyncio.ensure_future(self._prepare())

    async def run(self, work: Callable[[Memory], Answer]) -> Answer:
        """Do something with the memory, in its thread.

        Raises:
            RecollectError: it cannot be opened, or what was asked of it failed.
            SlowError: it takes longer than a call may; it goes on, and the next call finds it done.

        """
        try:
            async with asyncio.timeout(self._call_seconds):
                return await self._run(work)
        except TimeoutError:
            raise SlowError(
                f"Memory did not answer within {self._call_seconds:.0f} seconds: it is being "
                "opened, read for the first time, or waits for its embedding provider.",
                action="Ask again in a moment.",
            ) from None

    def take_notices(self) -> tuple[str, ...]:
        """Return what is still to be said from before the first question, once."""
        notices, self._notices = self._notices, ()
        return notices

    @property
    def is_first_sync(self) -> bool:
        """True while nothing in the background has finished yet."""
        return self._worker is not None and self.report is None

    async def close(self) -> bool:
        """End the worker and release the index; False when that takes too long."""
        self._is_closed = True
        if self._preparing is not None:
            self._preparing.cancel()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._opening is not None:
                    # What is being opened may just have started the worker.
                    await asyncio.wait([self._opening])
                if self._worker is not None:
                    await asyncio.to_thread(self._worker.stop)
                if self._opening is not None:
                    await self._release(self._opening)
        except TimeoutError:
            return False
        return True

    async def _run(self, work: Callable[[Memory], Answer]) -> Answer:
        opening = self._open()
        try:
            return await (await asyncio.shield(opening)).run(work)
        except StoreError as error:
            if isinstance(error, _STANDING):
                raise
            _LOG.warning("%s The index is opened anew.", error.message)
            await self._release(opening)
        except RuntimeError:
            if opening is self._opening:
                raise
            # Another call has just closed it, to open it anew.
        return await (await asyncio.shield(self._open())).run(work)

    def _open(self) -> asyncio.Task[AsyncMemory]:
        """Return the opening of the memory, which calls that give up do not interrupt."""
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.ensure_future(self._opened())
        return opening

    async def _opened(self) -> AsyncMemory:
        # Imported in a thread, since it takes a while, and not before there is time for it.
        module = await asyncio.to_thread(import_module, "recollect.async_memory")
        twin: type[AsyncMemory] = module.AsyncMemory
        offer = self._offer
        memory = await twin.open(
            offer.workspace,
            agent=offer.agent,
            config_file=offer.config_file,
            scopes=offer.scopes,
        )
        if self._worker is None and not self._is_closed:
            self._worker = await memory.run(self._start_worker)
        return memory

    def _start_worker(self, memory: Memory) -> Worker | None:
        if not memory.is_writable:
            return None
        worker = memory.worker(done=self._synced, told=_LOG.warning)
        worker.start()
        return worker

    def _synced(self, ended: Report | RecollectError) -> None:
        """Take note, in the worker's thread, of how a sync ended."""
        self.report = ended
        if isinstance(ended, RecollectError):
            _LOG.warning("%s %s", ended.message, ended.action)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._is_synced.set)

    async def _prepare(self) -> None:
        """Open the memory and load its model, so that the first question need not wait for it."""
        try:
            memory = await asyncio.shield(self._open())
            notices = await memory.run(_warm)
            if notices is None:
                await self._is_synced.wait()
                notices = await memory.run(_warm)
            self._notices += notices or ()
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
            _LOG.exception("The memory could not be opened in the background.")

    async def _release(self, opening: asyncio.Task[AsyncMemory]) -> None:
        if opening is not self._opening:
            return
        self._opening = None
        try:
            memory = await opening
        except RecollectError:
            return  # it never was open
        await memory.close()


async def leave(live: LiveMemory) -> None:
    """Close the memory of a server that ends; what does not end in time is left where it stands."""
    if not await live.close():
        _LOG.warning("Stopped while the index was being worked on; what was done is kept.")
        os._exit(0)  # a thread that waits for a server elsewhere would keep the program


def _warm(memory: Memory) -> tuple[str, ...] | None:
    """Ask something, where that is free, to have everything loaded; None: nothing is indexed.

    Returns what is to be said: it is said once, and nobody has asked anything yet.
    """
    if not memory.paths():
        return None
    config = memory.config
    if config.provider.provider not in _FREE or config.wording.wanted:
        return ()
    return memory.search("memory", max_results=1, sync=False, rerank=False).notices
