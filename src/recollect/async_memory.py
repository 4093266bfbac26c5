"""Memory for asynchronous programs: the same methods, awaited, run in one thread.

The core stays synchronous and never blocks an event loop. Calls of one AsyncMemory run one after
the other, in the order they were made, because a connection serves one call at a time.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from recollect.errors import StoreError
from recollect.memory import Memory, open_memory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from pathlib import Path

    from recollect.config.schema import Config
    from recollect.parts import MemoryParts

P = ParamSpec("P")
Answer = TypeVar("Answer")


def _awaited(
    method: Callable[Concatenate[Memory, P], Answer],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[Answer]]:
    """Return an awaitable version of a method, with the same arguments and documentation."""

    @wraps(method)
    async def hop(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self.run(lambda memory: method(memory, *args, **kwargs))

    return hop


def _opened(opener: Callable[P, Memory]) -> Callable[P, Awaitable[AsyncMemory]]:
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


class AsyncMemory:
    """An agent's memory for asynchronous programs. Use `await AsyncMemory.open(...)`."""

    def __init__(self, memory: Memory, *, thread: ThreadPoolExecutor) -> None:
        """Store a memory and its thread: the one that opened it, and the only one to use it."""
        self._memory = memory
        self._thread = thread
        self._closing: Future[None] | None = None

    open = staticmethod(_opened(Memory.open))
    sync = _awaited(Memory.sync)
    search = _awaited(Memory.search)
    answer = _awaited(Memory.answer)
    why = _awaited(Memory.why)
    recall = _awaited(Memory.recall)
    get = _awaited(Memory.get)
    status = _awaited(Memory.status)
    paths = _awaited(Memory.paths)
    reset = _awaited(Memory.reset)
    verify = _awaited(Memory.verify)
    find_secrets = _awaited(Memory.find_secrets)
    has_lost_index = _awaited(Memory.has_lost_index)
    finish_in_background = _awaited(Memory.finish_in_background)

    @property
    def parts(self) -> MemoryParts:
        """The parts, for programs of this package: it may change at any time."""
        return self._memory.parts

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
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._memory)

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

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


open_async = _opened(open_memory)
"""Opens the memory that settings were read for."""
