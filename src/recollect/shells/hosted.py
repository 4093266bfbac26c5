"""One of many memories, as the operations of a server use it: opened for each call.

It offers what a `ServedMemory` offers. Nothing is watched and nothing is synced here: what is
written is read at once, and workers embed it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar
from weakref import WeakValueDictionary

from recollect.records import dataclass
from recollect.shells.serving import (
    MOST_QUESTIONS,
    NO_ANSWER,
    QUESTION_SECONDS,
    LastSync,
    Turns,
    limited_to,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from recollect.hosting.host import MemoryHost, PushedMemory
    from recollect.shells.serving import WorkerState
    from recollect.types import Results, SearchRequest

Answer = TypeVar("Answer")

_MOST_CALLS = 8
"""Calls at the same time; each takes a connection, of which a process has ten."""
_MOST_OF_ONE = 2
"""Calls of one memory at the same time. Writers of one wait for each other: they leave threads to
other memories."""
_MOST_WAITING = 16
"""Calls of one memory that wait for their turn: a quarter of the requests that a server takes."""


class HostThreads:
    """The threads in which calls of all memories run, and those that embed questions."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, Turns] = WeakValueDictionary()
        self.calls = ThreadPoolExecutor(_MOST_CALLS, thread_name_prefix="recollect-call")
        self.questions = ThreadPoolExecutor(MOST_QUESTIONS, thread_name_prefix="recollect-question")
        self.health = ThreadPoolExecutor(1, thread_name_prefix="recollect-health")

    def turns_of(self, agent: str) -> Turns:
        """Return the turns of a memory, which are kept while it has calls."""
        turns = self._turns.get(agent) or Turns(_MOST_OF_ONE, most_waiting=_MOST_WAITING)
        return self._turns.setdefault(agent, turns)

    def close(self) -> None:
        """Stop; what waits for a thread is not done."""
        for pool in (self.calls, self.questions, self.health):
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class HostedMemory:
    """The memory that one request names."""

    last_sync: ClassVar = LastSync()
    """Last sync, of a worker that this server does not have."""
    state: ClassVar[WorkerState] = "idle"
    is_first_sync: ClassVar = False

    host: MemoryHost
    agent: str
    threads: HostThreads
    scopes: frozenset[str] | None
    """The only scopes whose facts may be seen; None for all."""
    call_seconds: float | None = None

    async def run(self, work: Callable[[PushedMemory], Answer]) -> Answer:
        """Run a function with the memory, in a thread."""
        turns = self.threads.turns_of(self.agent)
        return await turns.run(lambda: self._call(self.threads.calls, work))

    read = run

    async def search(self, request: SearchRequest) -> Results:
        """Answer a question. No other call waits while it is embedded."""
        started = await self.run(lambda memory: memory.start_search(replace(request, sync=False)))
        embedding = self._call(self.threads.questions, lambda memory: memory.embed_search(started))
        embedded = await within(QUESTION_SECONDS, embedding) or NO_ANSWER
        return await self.run(lambda memory: memory.finish_search(started, embedded))

    async def wait_for_first_sync(self) -> None:
        """Return at once: there is none."""

    def wake_worker(self) -> bool:
        """Put the memory into the queue of work."""
        self.threads.calls.submit(self.host.database.enqueue, self.agent)
        return True

    def note_write(self) -> bool:
        """Do nothing: what is written is in the queue of work."""
        return True

    def time_limit(self) -> AbstractAsyncContextManager[None]:
        """Limit what is awaited inside to the time that one call may take."""
        return limited_to(self.call_seconds)

    async def _call(
        self, pool: ThreadPoolExecutor, work: Callable[[PushedMemory], Answer]
    ) -> Answer:
        def call() -> Answer:
            with self.host.memory(self.agent, scopes=self.scopes) as memory:
                return work(memory)

        return await asyncio.get_running_loop().run_in_executor(pool, call)
