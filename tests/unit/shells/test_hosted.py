"""Calls of many memories share threads, and one memory takes only some of them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext

import pytest

from recollect.shells import hosted
from recollect.shells.hosted import HostedMemory, HostThreads
from recollect.shells.serving import CrowdedError


class Host:
    """Opens memories that are nothing but their name."""

    def memory(self, agent: str, **_options: object) -> nullcontext[str]:
        """Return the name."""
        return nullcontext(agent)


def test_the_thread_of_a_client_that_left_still_counts() -> None:
    going_on = threading.Event()
    begun = threading.Barrier(hosted._MOST_OF_ONE + 1)
    threads = HostThreads()
    memory = HostedMemory(Host(), "ada", threads=threads, scopes=None)  # type: ignore[arg-type]

    def hang(_memory: object) -> None:
        begun.wait()
        going_on.wait()

    async def leave_and_ask() -> list[str | None]:
        left = [asyncio.ensure_future(memory.run(hang)) for _ in range(hosted._MOST_OF_ONE)]
        await asyncio.to_thread(begun.wait)
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        waiting = [asyncio.ensure_future(memory.run(str)) for _ in range(hosted._MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(CrowdedError):
            await memory.run(str)
        going_on.set()
        return list(await asyncio.gather(*waiting))

    try:
        answers = asyncio.run(leave_and_ask())
    finally:
        going_on.set()
        threads.close()

    assert ["ada"] * hosted._MOST_WAITING == answers
    assert not threads._turns
