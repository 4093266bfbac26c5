"""One of many memories, as the operations of a server use it: opened for each call.

It offers what a `ServedMemory` offers. Nothing is watched and nothing is synced here: what is
written is read at once, and workers embed it.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import RecollectError
from recollect.shells.serving import (
    MOST_QUESTIONS,
    NO_ANSWER,
    QUESTION_SECONDS,
    LastSync,
    limited_to,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager

    from recollect.hosting.host import MemoryHost
    from recollect.hosting.memory import PushedMemory
    from recollect.types import Results, SearchRequest

Answer = TypeVar("Answer")

_MOST_CALLS = 8
"""Calls at the same time; each takes a connection, of which a process has ten."""
_MOST_OF_ONE = 2
"""Calls of one memory at the same time. Writers of one wait for each other: they leave threads to
other memories."""
_MOST_WAITING = 16
"""Calls of one memory that wait for their turn: a quarter of the requests that a server takes."""


class CrowdedError(RecollectError):
    """Too many calls of one memory are in progress."""

    kind = "busy"


class Turns:
    """How many calls each memory has under way. Used by one event loop."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}
        self._places: dict[str, asyncio.Semaphore] = {}

    async def take(self, agent: str) -> None:
        """Wait until a call of a memory may run.

        Raises:
            CrowdedError: too many wait for that already.

        """
        calls = self._calls.get(agent, 0)
        if calls == _MOST_OF_ONE + _MOST_WAITING:
            raise CrowdedError(
                "Too many requests to this memory are in progress.",
                action="Try again in a second, or send several changes in one request.",
            )
        self._calls[agent] = calls + 1
        place = self._places.setdefault(agent, asyncio.Semaphore(_MOST_OF_ONE))
        try:
            await place.acquire()
        except BaseException:
            self._leave(agent)
            raise

    def give_back(self, agent: str) -> None:
        """End a call: the next one of the memory may run."""
        self._places[agent].release()
        self._leave(agent)

    def _leave(self, agent: str) -> None:
        self._calls[agent] -= 1
        if not self._calls[agent]:
            del self._calls[agent], self._places[agent]


class HostThreads:
    """The threads in which calls of all memories run, and those that embed questions."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.calls = ThreadPoolExecutor(_MOST_CALLS, thread_name_prefix="recollect-call")
        self.questions = ThreadPoolExecutor(MOST_QUESTIONS, thread_name_prefix="recollect-question")
        self.health = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")

    def close(self) -> None:
        """Stop; what waits for a thread is not done."""
        for pool in (self.calls, self.questions, self.health):
            pool.shutdown(wait=False, cancel_futures=True)


class HostedMemory:
    """The memory that one request names."""

    last_sync = LastSync()
    """Last sync, of a worker that this server does not have."""
    state = "idle"
    is_first_sync = False

    def __init__(
        self,
        host: MemoryHost,
        agent: str,
        *,
        threads: HostThreads,
        scopes: frozenset[str] | None,
        call_seconds: float | None = None,
    ) -> None:
        self._host = host
        self._agent = agent
        self._threads = threads
        self._scopes = scopes
        self._call_seconds = call_seconds

    def limited_to(self, scopes: frozenset[str], *, call_seconds: float) -> HostedMemory:
        """Return the same memory, limited to facts of these scopes, and to a time for each call."""
        return HostedMemory(
            self._host,
            self._agent,
            threads=self._threads,
            scopes=scopes,
            call_seconds=call_seconds,
        )

    async def run(self, work: Callable[[PushedMemory], Answer]) -> Answer:
        """Run a function with the memory, in a thread.

        Raises:
            RecollectError: the function failed, or too many calls of this memory wait.

        """
        turns, loop = self._threads.turns, asyncio.get_running_loop()
        await turns.take(self._agent)

        def ended(_call: Future[Answer]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(turns.give_back, self._agent)

        try:
            call = self._submit(self._threads.calls, work)
        except BaseException:
            turns.give_back(self._agent)
            raise
        # A client that leaves does not end what its thread does.
        call.add_done_callback(ended)
        return await asyncio.wrap_future(call)

    read = run

    async def search(self, request: SearchRequest) -> Results:
        """Answer a question. No other call waits while it is embedded.

        Raises:
            RecollectError: the memory cannot be read, or the request is not valid.

        """
        asked = replace(request, sync=False)
        started = await self.run(lambda memory: memory.start_search(asked))
        embedding = asyncio.wrap_future(
            self._submit(self._threads.questions, lambda memory: memory.embed_search(started))
        )
        embedded = await within(QUESTION_SECONDS, embedding) or NO_ANSWER
        return await self.run(lambda memory: memory.finish_search(started, embedded))

    async def wait_for_first_sync(self) -> None:
        """Return at once: there is none."""

    def take_notices(self) -> tuple[str, ...]:
        """Return nothing: reports already contain the notices."""
        return ()

    def wake_worker(self) -> bool:
        """Put the memory into the queue of work."""
        self._threads.calls.submit(self._enqueue)
        return True

    def time_limit(self) -> AbstractAsyncContextManager[None]:
        """Limit what is awaited inside to the time that one call may take."""
        return limited_to(self._call_seconds)

    def _enqueue(self) -> None:
        with self._host.queue() as queue:
            queue.add(self._agent)

    def _submit(
        self, pool: ThreadPoolExecutor, work: Callable[[PushedMemory], Answer]
    ) -> Future[Answer]:
        def call() -> Answer:
            with self._host.memory(self._agent, scopes=self._scopes) as memory:
                return work(memory)

        return pool.submit(call)
