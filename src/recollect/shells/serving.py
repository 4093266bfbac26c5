"""A memory as a server holds it: opened once, kept fresh by a worker, without any protocol."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from recollect.errors import RecollectError, StoreReadOnlyError
from recollect.records import dataclass
from recollect.shells.running_server import offered
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager

    from recollect.async_memory import AsyncMemory
    from recollect.background.worker import Worker
    from recollect.memory import Memory
    from recollect.parts import MemoryParts
    from recollect.reports import Report
    from recollect.types import Results, SearchRequest

Answer = TypeVar("Answer")

WorkerState = Literal["syncing", "idle", "failing", "stopped"]
_FIRST_SYNC_SECONDS = 5.0  # how long a question waits for the first sync of a small memory
_FRESHEN_SECONDS = 8.0  # how long a question waits for what changed to be read
QUESTION_SECONDS = 12.0
"""How long a question waits to be embedded; a provider has 11 for all attempts."""
MOST_READERS = max(2, min(4, os.cpu_count() or 2))
"""More would only compete for the processor."""
MOST_QUESTIONS = 64
"""Embedded at the same time."""
_LOOK_SECONDS = 0.05  # how often it looks whether the memory is small
_SHORT_SYNC = 64  # files, or texts to embed: seconds at most
_NOT_FRESH = "The index may not be up to date: changes are still being read."
NO_ANSWER = Degradation(
    f"The embedding provider did not answer within {QUESTION_SECONDS:g} seconds.",
    action="`recollect status --deep` shows whether it works.",
)
_LOG = logging.getLogger(__name__)


class SlowError(RecollectError):
    """A call took longer than it may."""

    kind = "timeout"


@dataclass(frozen=True, slots=True)
class LastSync:
    """How the last background sync ended."""

    report: Report | None = None
    error: RecollectError | None = None
    """Why the last sync failed; None if it succeeded."""
    at: datetime | None = None
    """When it ended; None before the first sync has ended."""

    @property
    def outcome(self) -> Report | RecollectError | None:
        """The error or the report of the last sync."""
        return self.error or self.report


class CrowdedError(RecollectError):
    """Too many calls of one memory are in progress."""

    kind = "busy"


class Turns:
    """Lets a number of calls run at a time; others wait. Used by one event loop."""

    def __init__(self, most: int, *, most_waiting: float = math.inf) -> None:
        self._places = asyncio.Semaphore(most)
        self._waiting = 0
        self._most_waiting = most_waiting

    async def run(self, work: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """Run work in its turn. That of a caller who leaves before is not done."""
        if self._waiting == self._most_waiting:
            raise CrowdedError(
                "Too many requests to this memory are in progress.",
                action="Try again in a second, or send several changes in one request.",
            )
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        running = asyncio.ensure_future(work())
        # A caller who leaves does not take the place away from work that has started.
        running.add_done_callback(self._end)
        return await asyncio.shield(running)

    def _end(self, done: asyncio.Task[Any]) -> None:
        self._places.release()
        if not done.cancelled():
            done.exception()  # the caller may be gone; then nobody else looks at it


class Readers:
    """Several readers of one index, up to a limit: what only reads does not wait for a model."""

    def __init__(self, main: AsyncMemory) -> None:
        self._main = main
        self._turns = Turns(MOST_READERS)
        self._idle: list[AsyncMemory] = []
        self._all: list[AsyncMemory] = []

    async def run(self, work: Callable[[MemoryParts], Answer]) -> Answer:
        """Run a function with a reader."""

        async def run() -> Answer:
            if not self._idle:
                reader = await self._main.reader()
                self._all.append(reader)
            else:
                reader = self._idle.pop()
            try:
                return await reader.run(lambda memory: work(memory.parts))
            finally:
                self._idle.append(reader)

        return await self._turns.run(run)

    async def close(self) -> None:
        """Close all, once what they do has ended."""
        for reader in self._all:
            await reader.close()


@dataclass(frozen=True, slots=True)
class _Opened:
    """A memory that is open."""

    main: AsyncMemory
    """Writes, syncs and asks models, one call at a time."""
    readers: Readers


class ServedMemory:
    """The memory of one server, its worker, and how the worker's last sync ended."""

    def __init__(
        self,
        open_memory: Callable[[], Awaitable[AsyncMemory]],
        *,
        call_seconds: float | None = None,
    ) -> None:
        """Store the arguments; nothing is opened yet, and opening is tried again if it fails."""
        self.last_sync = LastSync()
        self._open_memory = open_memory
        self._call_seconds = call_seconds
        self._loop = asyncio.get_running_loop()
        self._opening: asyncio.Task[_Opened] | None = None
        self._models = ThreadPoolExecutor(MOST_QUESTIONS, thread_name_prefix="recollect-question")
        self._preparing: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._is_closed = False
        self._offering = contextlib.AsyncExitStack()
        self._has_synced = asyncio.Event()
        self._untold: tuple[str, ...] = ()
        """Notices that were reported when the model was loaded, where nobody saw them."""

    async def open(self) -> None:
        """Open the memory and start its worker, unless that is done."""
        await asyncio.shield(self._opened())

    def prepare(self) -> None:
        """Open the memory and load its model in the background, ready for the first question."""
        self._preparing = asyncio.ensure_future(self._prepare())

    def time_limit(self) -> AbstractAsyncContextManager[None]:
        """Limit what is awaited inside to the time that one call may take."""
        return limited_to(self._call_seconds)

    async def run(self, work: Callable[[MemoryParts], Answer]) -> Answer:
        """Run a function that may write or ask a model, one at a time."""
        opened = await asyncio.shield(self._opened())
        return await opened.main.run(lambda memory: work(memory.parts))

    async def read(self, work: Callable[[MemoryParts], Answer]) -> Answer:
        """Run a function that asks no model, several at a time."""
        return await (await asyncio.shield(self._opened())).readers.run(work)

    async def search(self, request: SearchRequest) -> Results:
        """Answer a question. No other call waits while it is embedded."""
        opened = await asyncio.shield(self._opened())
        syncs = opened.main.config.sync_on_search if request.sync is None else request.sync
        started = None
        if syncs:
            # Not for long: another call may be waiting for a model meanwhile.
            fresh = self.run(lambda memory: memory.start_search(request))
            started = await within(_FRESHEN_SECONDS, fresh)
        if started is None:
            stale = replace(request, sync=False)
            started = await self.read(lambda memory: memory.start_search(stale))
            late = (_NOT_FRESH,) if syncs else ()
            started = replace(started, notices=(*started.notices, *late))
        untold, self._untold = self._untold, ()
        question = replace(started, notices=(*untold, *started.notices))
        embedding = self._loop.run_in_executor(
            self._models, opened.main.parts.embed_search, question
        )
        embedded = await within(QUESTION_SECONDS, embedding) or NO_ANSWER
        return await self.read(lambda memory: memory.finish_search(question, embedded))

    async def wait_for_first_sync(self) -> None:
        """Wait a few seconds for the worker's first sync; a failure is left to later calls."""
        with contextlib.suppress(TimeoutError, RecollectError):
            async with asyncio.timeout(_FIRST_SYNC_SECONDS):
                await asyncio.shield(self._opened())
                while self.is_first_sync:
                    step = self._worker.step if self._worker else None
                    if step is not None and step.total > _SHORT_SYNC:
                        return
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._has_synced.wait(), _LOOK_SECONDS)

    @property
    def state(self) -> WorkerState:
        """What the worker is doing."""
        if self._worker is None:
            return "failing" if self.last_sync.error else "stopped"
        if self._worker.is_syncing or self.last_sync.at is None:
            return "syncing"
        return "failing" if self.last_sync.error else "idle"

    @property
    def is_first_sync(self) -> bool:
        """Whether the worker's first sync has not ended yet."""
        return self._worker is not None and self.last_sync.at is None

    def wake_worker(self) -> bool:
        """Have the worker sync now; False if there is no worker."""
        if self._worker is not None:
            self._worker.wake()
        return self._worker is not None

    note_write = wake_worker

    async def close(self, *, seconds: float) -> bool:
        """Stop the worker and close the memory; False if that takes too long."""
        self._is_closed = True
        if self._preparing is not None:
            self._preparing.cancel()
        try:
            async with asyncio.timeout(seconds):
                if self._opening is not None:
                    # It may be about to start the worker.
                    await asyncio.wait([self._opening])
                await self._offering.aclose()
                if self._worker is not None:
                    await asyncio.to_thread(self._worker.stop)
                    self._worker = None
                if self._opening is not None and not self._opening.exception():
                    opened = self._opening.result()
                    await opened.readers.close()
                    await opened.main.close()
        except TimeoutError:
            return False
        finally:
            self._models.shutdown(wait=False, cancel_futures=True)
        return True

    async def close_or_exit(self, *, seconds: float, exit_code: int) -> None:
        """Close the memory, or end the process if that takes too long."""
        if not await self.close(seconds=seconds):
            # Python would wait for the memory's thread, which may wait for a provider. The index
            # is safe: a process may be killed at any time.
            _LOG.warning("Work did not end within %g seconds; stopped without it.", seconds)
            os._exit(exit_code)

    def _opened(self) -> asyncio.Task[_Opened]:
        """Return the task that opens the memory; a call that gives up does not cancel it."""
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.ensure_future(self._open())
        return opening

    async def _open(self) -> _Opened:
        main = await self._open_memory()
        if self._worker is None and not self._is_closed:
            self._worker = await main.run(self._start_worker)
            await self._offering.enter_async_context(offered(self, main.parts.setup))
        return _Opened(main, Readers(main))

    def _start_worker(self, memory: Memory) -> Worker | None:
        if not memory.is_writable:
            self.last_sync = LastSync(
                error=StoreReadOnlyError(
                    "The index is read-only, so it is not kept up to date.",
                    action="Make its folder writable, or set RECOLLECT_HOME to one that is.",
                ),
                at=datetime.now(tz=UTC),
            )
            return None
        worker = memory.worker(
            on_sync=self._note_sync, on_notice=_LOG.warning, purpose="a server of this memory"
        )
        worker.start()
        return worker

    def _note_sync(self, ended: Report | RecollectError) -> None:
        """Record how a sync ended; called in the worker's thread."""
        now = datetime.now(tz=UTC)
        if isinstance(ended, RecollectError):
            self.last_sync = replace(self.last_sync, error=ended, at=now)
            _LOG.warning("%s %s", ended.message, ended.action)
        else:
            self.last_sync = LastSync(report=ended, at=now)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._has_synced.set)

    async def _prepare(self) -> None:
        try:
            opened = await asyncio.shield(self._opened())
            notices = await opened.main.run(_warm_up)
            if notices is None:
                await self._has_synced.wait()
                notices = await opened.main.run(_warm_up)
            self._untold += notices or ()
        except RecollectError as error:
            _LOG.warning("%s %s", error.message, error.action)
        except Exception:  # noqa: BLE001 - a bug here must not end the server
            _LOG.exception("The memory could not be opened in the background.")


@contextlib.asynccontextmanager
async def limited_to(seconds: float | None) -> AsyncIterator[None]:
    """Limit what is awaited inside to a time; work goes on, and the next call finds it done."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise SlowError(
            f"Memory did not answer within {seconds:g} seconds. It is still opening, reading "
            "files for the first time, or waiting for its embedding provider.",
            action="Ask again in a moment.",
        ) from None


async def within(seconds: float, work: Awaitable[Answer]) -> Answer | None:
    """Return what the work returns; None if it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return None


def _warm_up(memory: Memory) -> tuple[str, ...] | None:
    """Load everything a search needs, if that sends nothing; None if nothing is indexed yet.

    Its notices are for the first question: a search shows them once, and this one has no reader.
    """
    if not memory.paths():
        return None
    if next(memory.parts.chain.servers(), None) is not None or memory.config.wording.wanted:
        return ()
    return memory.search("memory", max_results=1, sync=False, rerank=False).notices
