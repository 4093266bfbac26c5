"""A provider that does not answer costs only the requests that need it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.http.servers import inside
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer

from recollect.providers.remote.pace import FOR_QUESTIONS
from recollect.shells import serving
from recollect.shells.http.server import ServeOptions
from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.tools import TOOLS
from recollect.shells.serving import MOST_READERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.http.servers import Inside
    from tests.vendors.server import Exchange, Request

KEY = "sk-hanging"
SEARCHES = MOST_READERS + 3
READS = (
    "/health",
    "/api/status",
    "/api/file?path=memory/a.md",
    "/api/facts",
    "/api/documents",
    "/api/timeline",
    "/api/map",
    "/metrics",
)


class Hanging:
    """A vendor that answers until it is told to hang, and then hangs until it is freed."""

    def __init__(self, server: VendorServer) -> None:
        self.waiting = 0
        self.stalled: Callable[[], None] = lambda: None  # told of each request that waits
        self.is_hanging = threading.Event()
        self.freed = threading.Event()
        self._lock = threading.Lock()
        server.script = self._script

    def recover(self) -> None:
        """Answer again; requests that wait are dropped."""
        self.is_hanging.clear()
        self.freed.set()

    def _script(self, _number: int, _request: Request) -> Callable[[Exchange], None] | None:
        return self._hang if self.is_hanging.is_set() else None

    def _hang(self, exchange: Exchange) -> None:
        with self._lock:
            self.waiting += 1
        self.stalled()
        self.freed.wait(PATIENCE_SECONDS)
        with contextlib.suppress(OSError):
            exchange.drop()


@pytest.fixture
def vendor(environ: dict[str, str]) -> Iterator[Hanging]:
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        server._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        environ |= {
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_DIMENSIONS": "32",
            "RECOLLECT_REMOTE_TIMEOUT_SECONDS": "60",  # longer than any test
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        vendor = Hanging(server)
        yield vendor
        vendor.recover()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def here(
    workspace: Path, environ: dict[str, str], vendor: Hanging, write: Callable[[str, str], Path]
) -> Iterator[Inside]:
    """A server whose notes are embedded, and whose provider hangs from now on."""
    write("memory/a.md", "The kettle is green.\n")
    with inside(workspace, environ, ServeOptions("127.0.0.1", 0)) as running:
        wait_until(lambda: running.memory.state == "idle")
        assert "hybrid" == ask(running).json()["mode"]
        vendor.is_hanging.set()
        yield running
        vendor.recover()


def ask(here: Inside) -> httpx.Response:
    return httpx.get(f"{here.url}/api/search?query=kettle", timeout=PATIENCE_SECONDS)


def test_reads_are_answered_while_searches_wait_for_a_provider(
    here: Inside, vendor: Hanging
) -> None:
    with ThreadPoolExecutor(SEARCHES) as threads:
        searches = [threads.submit(ask, here) for _ in range(SEARCHES)]
        wait_until(lambda: vendor.waiting >= SEARCHES)
        answers = {path: httpx.get(here.url + path, timeout=PATIENCE_SECONDS) for path in READS}
        forgotten = httpx.delete(f"{here.url}/api/facts/f-0000000000000", timeout=PATIENCE_SECONDS)
        still_waiting = [search for search in searches if not search.done()]
        vendor.freed.set()
        found = [search.result(PATIENCE_SECONDS) for search in searches]

    assert dict.fromkeys(READS, 200) == {
        path: answer.status_code for path, answer in answers.items()
    }
    assert 404 == forgotten.status_code
    assert SEARCHES == len(still_waiting)
    assert [(200, "keyword")] * SEARCHES == [
        (answer.status_code, answer.json()["mode"]) for answer in found
    ]


def test_tools_that_only_read_are_answered_while_searches_wait(
    here: Inside, vendor: Hanging
) -> None:
    tools = {tool.name: tool for tool in TOOLS}
    calls = Calls(here.memory, scopes=frozenset())

    def call(name: str, **given: object) -> Any:
        return asyncio.run_coroutine_threadsafe(calls.call(tools[name], given), here.loop)

    searches = [call("memory_search", query="kettle") for _ in range(SEARCHES)]
    wait_until(lambda: vendor.waiting >= SEARCHES)
    read = call("memory_get", path="memory/a.md").result(PATIENCE_SECONDS)
    status = call("memory_status").result(PATIENCE_SECONDS)
    still_waiting = [search for search in searches if not search.done()]
    vendor.freed.set()
    found = [search.result(PATIENCE_SECONDS) for search in searches]

    assert "green" in read.text
    assert not status.is_error
    assert SEARCHES == len(still_waiting)
    assert all("green" in answer.text for answer in found)


def test_a_search_is_answered_by_keywords_with_the_reason(
    clock: Clock, here: Inside, vendor: Hanging
) -> None:
    vendor.stalled = lambda: clock.forward(FOR_QUESTIONS.total_seconds)

    answer = ask(here).json()

    assert ["memory/a.md"] == [hit["path"] for hit in answer["results"]]
    assert "keyword" == answer["mode"]
    assert "did not answer" in str(answer["degraded"])


def test_a_question_is_not_waited_for_longer_than_its_deadline(
    here: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "QUESTION_SECONDS", 0.2)  # a provider may not keep its own

    answer = ask(here).json()

    assert "keyword" == answer["mode"]
    assert "The embedding provider did not answer" in str(answer["degraded"])


def test_a_fact_is_saved_without_waiting_for_the_provider(here: Inside) -> None:
    def remember(text: str) -> httpx.Response:
        body = {"text": text, "category": "fact"}
        return httpx.post(f"{here.url}/api/facts", json=body, timeout=PATIENCE_SECONDS)

    first = remember("The kettle of the kitchen is green.")
    second = remember("The green kettle is of the kitchen.")

    assert [201, 201] == [first.status_code, second.status_code]
