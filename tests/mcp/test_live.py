"""The memory behind a server: whenever it is closed, nothing of it is left."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from recollect.shells.mcp.live import LiveMemory
from recollect.shells.mcp.offer import make_offer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from recollect import Memory
    from recollect.shells.upkeep import Worker

_BOUND_SECONDS = 30.0


class Slow(LiveMemory):
    """Has its worker started, but is not told so before it is let go on."""

    begun: asyncio.Event
    free: threading.Event

    def _start_worker(self, memory: Memory) -> Worker | None:
        worker = super()._start_worker(memory)
        self._loop.call_soon_threadsafe(self.begun.set)
        self.free.wait(_BOUND_SECONDS)
        return worker


def test_a_worker_that_was_just_started_is_stopped(
    sample: Path, plain: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in plain.items():
        monkeypatch.setenv(name, value)
    offer = make_offer(workspace=sample, agent=None, config_file=None, scopes=(), read_only=False)

    async def run() -> bool:
        live = Slow(offer)
        live.begun, live.free = asyncio.Event(), threading.Event()
        live.start()
        await asyncio.wait_for(live.begun.wait(), _BOUND_SECONDS)
        closing = asyncio.ensure_future(live.close())
        await asyncio.sleep(0)
        live.free.set()
        return await closing

    assert asyncio.run(run())
    assert [] == [each.name for each in threading.enumerate() if each.name == "recollect-worker"]
