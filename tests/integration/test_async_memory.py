"""The asynchronous twin: the same answers, and an event loop that is never held up."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect import AsyncMemory, Memory, QueryError, StoreError, WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_AWAITED = {"worker", "reader"}
"""Objects that belong to the memory's thread, reached with `run`."""


FILES = Path("/proc/self/fd")


def open_indexes(workspace: Path) -> int:
    """Return how many files of indexes beside a workspace this process has open."""
    home = str(workspace.parent)
    targets = [str(each.readlink()) for each in FILES.iterdir() if each.is_symlink()]
    return sum(target.startswith(home) and "sqlite" in target for target in targets)


def join_threads() -> None:
    """Wait for the threads of memories that nobody has any more."""
    for thread in threading.enumerate():
        if thread.name.startswith("recollect-memory"):
            thread.join(10)


def public(kind: type) -> dict[str, object]:
    return {name: member for name, member in vars(kind).items() if not name.startswith("_")}


def test_the_twin_has_every_method_with_the_same_arguments() -> None:
    twins = public(AsyncMemory)
    methods = {
        name: method
        for name, method in public(Memory).items()
        if inspect.isfunction(method) and name not in _NOT_AWAITED
    }

    assert set() == set(methods) - set(twins)
    for name, method in methods.items():
        twin = twins[name]
        assert callable(twin)
        if name != "close":
            assert inspect.signature(method) == inspect.signature(twin)


def test_facts_are_awaited_and_a_closed_memory_says_so(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    async def use() -> list[str]:
        settings = {"provider": "none"}
        async with await AsyncMemory.open(workspace, environ=environ, settings=settings) as memory:
            await memory.run(lambda memory: memory.facts.remember("The kettle is blue"))
            hits = [hit.snippet for hit in await memory.search("kettle")]
        with pytest.raises(StoreError, match="is closed"):
            await memory.search("kettle")
        return hits

    assert ["The kettle is blue"] == asyncio.run(use())


def test_it_answers_as_the_memory_does(embedded_sample: Path, environ: Mapping[str, str]) -> None:
    async def answers() -> list[str]:
        async with await AsyncMemory.open(embedded_sample, environ=environ) as memory:
            await memory.sync()
            results = await memory.search("how did we roll back")
            return [hit.citation for hit in results.hits]

    found = asyncio.run(answers())
    with Memory.open(embedded_sample, environ=environ) as memory:
        expected = [hit.citation for hit in memory.search("how did we roll back").hits]

    assert expected
    assert expected == found


def test_all_calls_run_in_one_thread_that_is_not_the_loops(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    async def names() -> set[str]:
        async with await AsyncMemory.open(workspace, environ=environ) as memory:
            calls = (memory.run(lambda _: threading.current_thread().name) for _ in range(8))
            return set(await asyncio.gather(*calls))

    found = asyncio.run(names())

    assert 1 == len(found)
    assert threading.current_thread().name not in found


def test_the_loop_goes_on_while_the_memory_works(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    async def loop_ran() -> bool:
        async with await AsyncMemory.open(workspace, environ=environ) as memory:
            free = threading.Event()
            held = asyncio.ensure_future(memory.run(lambda _: free.wait(PATIENCE_SECONDS)))
            await asyncio.sleep(0)
            free.set()  # only a loop that runs gets here while the thread waits
            return await held

    assert asyncio.run(loop_ran())


def test_errors_reach_whoever_awaits(workspace: Path, environ: Mapping[str, str]) -> None:
    async def ask() -> None:
        async with await AsyncMemory.open(workspace, environ=environ) as memory:
            await memory.search(" ")

    with pytest.raises(QueryError):
        asyncio.run(ask())


def test_what_cannot_be_opened_leaves_no_thread(tmp_path: Path, environ: Mapping[str, str]) -> None:
    async def open_nothing() -> None:
        await AsyncMemory.open(tmp_path / "nowhere", environ=environ)

    with pytest.raises(WorkspaceError):
        asyncio.run(open_nothing())

    join_threads()
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("recollect-memory")
    ]


def test_facts_are_reached_in_the_memorys_thread(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    async def remembered() -> list[str]:
        async with await AsyncMemory.open(workspace, environ=environ) as memory:
            await memory.run(lambda memory: memory.facts.remember("The lamp in the hall is green."))
            results = await memory.search("colour of the hall lamp", source="facts")
            return [hit.snippet for hit in results.hits]

    assert ["The lamp in the hall is green."] == asyncio.run(remembered())


def test_it_may_be_closed_twice(workspace: Path, environ: Mapping[str, str]) -> None:
    async def closed() -> bool:
        async with await AsyncMemory.open(workspace, environ=environ) as memory:
            await memory.close()
        return True

    assert asyncio.run(closed())


@pytest.mark.skipif(not FILES.exists(), reason="counts by Linux's /proc")
def test_what_is_opened_for_nobody_is_closed(workspace: Path, environ: Mapping[str, str]) -> None:
    async def given_up() -> None:
        opening = asyncio.ensure_future(AsyncMemory.open(workspace, environ=environ))
        await asyncio.sleep(0)  # it has begun
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(given_up())
    join_threads()

    assert 0 == open_indexes(workspace)


@pytest.mark.skipif(not FILES.exists(), reason="counts by Linux's /proc")
def test_a_close_that_is_not_waited_for_still_closes(
    workspace: Path, environ: Mapping[str, str]
) -> None:
    async def given_up() -> int:
        memory = await AsyncMemory.open(workspace, environ=environ)
        free = threading.Event()
        held = asyncio.ensure_future(memory.run(lambda _: free.wait(PATIENCE_SECONDS)))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(memory.close())
        await asyncio.sleep(0)
        closing.cancel()
        while_held = open_indexes(workspace)
        free.set()
        await held
        return while_held

    while_held = asyncio.run(given_up())
    join_threads()

    assert while_held > 0
    assert 0 == open_indexes(workspace)
