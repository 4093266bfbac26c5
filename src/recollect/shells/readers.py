"""Several readers of one index: what only reads does not wait for what a model holds up.

Each reader has its own connection and thread; all use the models of the memory they belong to.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.async_memory import AsyncMemory
    from recollect.memory import Memory

Answer = TypeVar("Answer")

MOST_READERS = max(2, min(4, os.cpu_count() or 2))
"""More would only compete for the processor."""


class Readers:
    """Opens readers as they are needed, up to a limit; beyond it, calls wait for their turn."""

    def __init__(self, main: AsyncMemory) -> None:
        self._main = main
        self._turns = asyncio.Semaphore(MOST_READERS)
        self._idle: list[AsyncMemory] = []
        self._all: list[AsyncMemory] = []

    async def run(self, work: Callable[[Memory], Answer]) -> Answer:
        """Run a function with a reader. Work whose caller leaves before its turn is not done."""
        await self._turns.acquire()
        running = asyncio.ensure_future(self._run(work))
        # A caller who leaves does not take the reader away from work that has started.
        running.add_done_callback(self._end_turn)
        return await asyncio.shield(running)

    async def close(self) -> None:
        """Close all, once what they do has ended."""
        for reader in self._all:
            await reader.close()

    async def _run(self, work: Callable[[Memory], Answer]) -> Answer:
        if not self._idle:
            reader = await self._main.reader()
            self._all.append(reader)
        else:
            reader = self._idle.pop()
        try:
            return await reader.run(work)
        finally:
            self._idle.append(reader)

    def _end_turn(self, done: asyncio.Task[Any]) -> None:
        self._turns.release()
        if not done.cancelled():
            done.exception()  # the caller may be gone; then nobody else looks at it
