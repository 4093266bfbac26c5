"""Memory for asynchronous programs: the same methods, awaited, run in one thread.

The core stays synchronous and never blocks an event loop. Calls of one AsyncMemory run one after
the other, in the order they were made, because a connection serves one call at a time.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, Self, TypeVar

from recollect.browse.overview import Overview
from recollect.errors import StoreError
from recollect.facts.book import FactBook
from recollect.memory import Memory
from recollect.sessions.book import SessionBook

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from recollect.config import Config

P = ParamSpec("P")
Answer = TypeVar("Answer")
Part = TypeVar("Part")


def _awaited(
    method: Callable[Concatenate[Memory, P], Answer],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[Answer]]:
    """Return an awaitable version of a method, with the same arguments and documentation."""

    @wraps(method)
    async def hop(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self.run(lambda memory: method(memory, *args, **kwargs))

    return hop


def _opened(
    opener: Callable[P, Memory],
) -> Callable[P, Awaitable[AsyncMemory]]:
    """Return an awaitable version of `Memory.open`, which runs in the memory's own thread."""

    @wraps(opener)
    async def hop(*args: P.args, **kwargs: P.kwargs) -> AsyncMemory:
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-memory")
        opening = thread.submit(opener, *args, **kwargs)
        try:
            memory = await asyncio.wrap_future(opening)
        except BaseException:
            opening.add_done_callback(_close_unwanted)
            thread.shutdown(wait=False)
            raise
        return AsyncMemory(memory, thread=thread)

    return hop


def _close_unwanted(opening: Future[Memory]) -> None:
    """Close a memory whose opener was cancelled, in its own thread."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class _AsyncPart(Generic[Part]):
    """A part of a memory whose methods are awaited."""

    def __init__(self, memory: AsyncMemory, part: Callable[[Memory], Part]) -> None:
        """Store the memory, and how to get the part of it."""
        self.memory = memory
        self.part = part


def _of_part(
    method: Callable[Concatenate[Part, P], Answer],
) -> Callable[Concatenate[_AsyncPart[Part], P], Awaitable[Answer]]:
    """Return an awaitable version of a method of a part."""

    @wraps(method)
    async def hop(self: _AsyncPart[Part], /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self.memory.run(lambda memory: method(self.part(memory), *args, **kwargs))

    return hop


class AsyncFacts(_AsyncPart[FactBook]):
    """The facts of a memory: `await memory.facts.remember(...)`."""

    remember = _of_part(FactBook.remember)
    all = _of_part(FactBook.all)
    listed = _of_part(FactBook.listed)
    history = _of_part(FactBook.history)
    supersede = _of_part(FactBook.supersede)
    restore = _of_part(FactBook.restore)
    forget = _of_part(FactBook.forget)
    prune = _of_part(FactBook.prune)
    duplicates = _of_part(FactBook.duplicates)
    merge = _of_part(FactBook.merge)
    export = _of_part(FactBook.export)
    import_jsonl = _of_part(FactBook.import_jsonl)


class AsyncSessions(_AsyncPart[SessionBook]):
    """The conversations of a memory: `await memory.sessions.all()`."""

    all = _of_part(SessionBook.all)
    import_transcripts = _of_part(SessionBook.import_transcripts)
    forget = _of_part(SessionBook.forget)
    last_copies = _of_part(SessionBook.last_copies)
    are_copies_redacted = _of_part(SessionBook.are_copies_redacted)
    forgotten = _of_part(SessionBook.forgotten)
    restore = _of_part(SessionBook.restore)


class AsyncOverview(_AsyncPart[Overview]):
    """A memory seen from above: `await memory.overview.documents()`."""

    documents = _of_part(Overview.documents)
    timeline = _of_part(Overview.timeline)
    related = _of_part(Overview.related)
    tags_of = _of_part(Overview.tags_of)
    map = _of_part(Overview.map)


class AsyncMemory:
    """An agent's memory for asynchronous programs. Use `await AsyncMemory.open(...)`."""

    def __init__(self, memory: Memory, *, thread: ThreadPoolExecutor) -> None:
        """Store the parts.

        Args:
            memory: opened in the thread.
            thread: the only one that may use it.

        """
        self._memory = memory
        self._thread = thread
        self._closing: Future[None] | None = None
        self.facts = AsyncFacts(self, lambda memory: memory.facts)
        self.sessions = AsyncSessions(self, lambda memory: memory.sessions)
        self.overview = AsyncOverview(self, lambda memory: memory.overview)

    open = staticmethod(_opened(Memory.open))
    open_setup = staticmethod(_opened(Memory.open_setup))
    sync = _awaited(Memory.sync)
    search = _awaited(Memory.search)
    answer = _awaited(Memory.answer)
    recall = _awaited(Memory.recall)
    recall_from = _awaited(Memory.recall_from)
    get = _awaited(Memory.get)
    status = _awaited(Memory.status)
    paths = _awaited(Memory.paths)
    reset = _awaited(Memory.reset)
    verify = _awaited(Memory.verify)
    verify_models = _awaited(Memory.verify_models)
    find_secrets = _awaited(Memory.find_secrets)
    exposed = _awaited(Memory.exposed)
    verify_store = _awaited(Memory.verify_store)
    finish_in_background = _awaited(Memory.finish_in_background)
    cache_status = _awaited(Memory.cache_status)
    prune_cache = _awaited(Memory.prune_cache)
    take_notices = _awaited(Memory.take_notices)

    @property
    def workspace(self) -> Path:
        """The folder whose memory this is."""
        return self._memory.workspace

    @property
    def agent(self) -> str:
        """Id of the index."""
        return self._memory.agent

    @property
    def config(self) -> Config:
        """The settings in force, and where each was set."""
        return self._memory.config

    def __repr__(self) -> str:
        """Return which memory this is."""
        return f"<Async{repr(self._memory)[1:]}"

    async def run(self, work: Callable[[Memory], Answer]) -> Answer:
        """Call a function with the memory in its thread, for example for several calls in a row.

        A cancelled caller stops waiting; work that has started runs to its end.

        Raises:
            StoreError: the memory is closed.

        """
        if self._closing is not None:
            raise StoreError(
                f"The memory of {self.workspace} is closed.", action="Open the memory again."
            )
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, work, self._memory)

    async def reader(self) -> AsyncMemory:
        """Return another one for the same index and models, with its own thread.

        Close it before this one.
        """
        return await _opened(self._memory.reader)()

    async def close(self) -> None:
        """Release the index and the models, once running calls have ended.

        This happens even if the caller is cancelled.
        """
        if self._closing is None:
            self._closing = self._thread.submit(self._memory.close)
            self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(self._closing))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
