"""A search right after the start: it waits for a short first sync, and says if it did not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.http.servers import inside
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.parts import MemoryParts
from recollect.shells import serving
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.http.servers import Inside

OPTIONS = ServeOptions("127.0.0.1", 0)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Keep the worker's syncs from starting until the event is set."""
    free = threading.Event()
    sync = Memory.sync

    def wait_and_sync(memory: Memory, **options: Any) -> object:
        free.wait(PATIENCE_SECONDS)
        return sync(memory, **options)

    monkeypatch.setattr(Memory, "sync", wait_and_sync)
    yield free
    free.set()


@pytest.fixture
def plain(environ: dict[str, str], write: Callable[[str, str], Path]) -> dict[str, str]:
    write("memory/a.md", "The kettle is green.\n")
    return {**environ, "RECOLLECT_PROVIDER": "none"}


def ask(here: Inside) -> Any:
    return httpx.get(f"{here.url}/api/search?query=kettle", timeout=PATIENCE_SECONDS).json()


def test_a_search_waits_for_the_first_sync_of_a_small_memory(
    workspace: Path,
    plain: dict[str, str],
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[bool] = []
    start = MemoryParts.start_search

    def start_search(memory: MemoryParts, *arguments: Any, **options: Any) -> object:
        started.append(here.memory.is_first_sync)
        return start(memory, *arguments, **options)

    monkeypatch.setattr(MemoryParts, "start_search", start_search)
    with inside(workspace, plain, OPTIONS) as here, ThreadPoolExecutor(1) as thread:
        searching = thread.submit(ask, here)
        wait_until(lambda: here.state.metrics.in_progress == 1)
        held.set()
        answer = searching.result(PATIENCE_SECONDS)

    assert [False] == started
    assert ["memory/a.md"] == [hit["path"] for hit in answer["results"]]
    assert "partial" not in answer


def test_an_answer_before_the_first_sync_has_ended_says_so(
    workspace: Path,
    plain: dict[str, str],
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "_FIRST_SYNC_SECONDS", 0.1)  # as if it were a long one
    with inside(workspace, plain, OPTIONS) as here:
        search = ask(here)
        address = f"{here.url}/api/recall?prompt=kettle"
        recall = httpx.get(address, timeout=PATIENCE_SECONDS).json()
        held.set()
        wait_until(lambda: here.memory.state == "idle")
        later = ask(here)

    assert [True, True] == [search["partial"], recall["partial"]]
    assert "partial" not in later
