"""The memory behind a server: whenever it is closed, nothing of it is left."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE_SECONDS

from recollect import AsyncMemory, Memory
from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.tools import TOOLS
from recollect.shells.serving import Answer, ServedMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

    from recollect.background.worker import Worker
    from recollect.parts import MemoryParts


class Slow(ServedMemory):
    """Starts its worker, but returns it only after a test allows it."""

    started: asyncio.Event
    free: threading.Event

    def _start_worker(self, memory: Memory) -> Worker | None:
        worker = super()._start_worker(memory)
        self._loop.call_soon_threadsafe(self.started.set)
        self.free.wait(PATIENCE_SECONDS)
        return worker


def test_a_worker_that_was_just_started_is_stopped(sample: Path, plain: Mapping[str, str]) -> None:
    async def run() -> bool:
        memory = Slow(lambda: AsyncMemory.open(sample, environ=plain))
        memory.started, memory.free = asyncio.Event(), threading.Event()
        memory.prepare()
        await asyncio.wait_for(memory.started.wait(), PATIENCE_SECONDS)
        closing = asyncio.ensure_future(memory.close(seconds=PATIENCE_SECONDS))
        await asyncio.sleep(0)
        memory.free.set()
        return await closing

    assert asyncio.run(run())
    assert [] == [each.name for each in threading.enumerate() if each.name == "recollect-worker"]


def test_a_read_only_index_is_served_without_a_worker(
    sample: Path, plain: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memory, "is_writable", property(lambda _: False))

    async def run() -> tuple[str, bool, bool]:
        memory = ServedMemory(lambda: AsyncMemory.open(sample, environ=plain))
        await memory.open()
        seen = (memory.state, memory.is_first_sync, memory.wake_worker())
        await memory.close(seconds=PATIENCE_SECONDS)
        return seen

    assert ("failing", False, False) == asyncio.run(run())


def test_the_time_of_a_call_includes_its_wait_for_the_first_sync() -> None:
    asked: list[str] = []

    class Opening(ServedMemory):
        """Never opens."""

        async def run(self, work: Callable[[MemoryParts], Answer]) -> Answer:
            asked.append("run")
            return await super().run(work)

    async def never() -> AsyncMemory:
        await asyncio.Event().wait()
        raise AssertionError

    async def search() -> str:
        calls = Calls(Opening(never, call_seconds=0.2), scopes=frozenset())
        [tool] = [each for each in TOOLS if each.name == "memory_search"]
        return (await calls.call(tool, {"query": "anything"})).text

    assert "did not answer within 0.2 seconds" in asyncio.run(search())
    assert [] == asked
