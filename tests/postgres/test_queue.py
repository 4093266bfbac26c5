"""Workers share one queue: each text is embedded once, and the work of a killed one goes on."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, notes_of
from tests.support.commands import recollect_command
from tests.support.postgres import database, host_of
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, refuse

from recollect import SearchRequest
from recollect.hosting import work
from recollect.hosting.host import MemoryHost
from recollect.hosting.tokens import create_token
from recollect.hosting.work import QueueWorker
from recollect.reports import Report
from recollect.stores.base import published_in
from recollect.stores.pushed import PushedChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.vendors.server import Exchange, Fault, Request

    from recollect.stores.postgres.host import PostgresHost


AGENTS = tuple(f"agent-{number}" for number in range(5))


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory, tenant: str) -> str:
    """The address of a database whose queue only this test uses."""
    run = tmp_path_factory.getbasetemp()
    run = run.parent if os.environ.get("PYTEST_XDIST_WORKER") else run
    return host_of(database(run, tenant))


@pytest.fixture
def vendor() -> Iterator[VendorServer]:
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        yield server


@pytest.fixture
def remote(environ: dict[str, str], vendor: VendorServer, alone: str) -> dict[str, str]:
    """Settings of a worker: no cache, so that a text embedded twice is seen."""
    return {
        **environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{vendor.url}/v1",
        "RECOLLECT_PROVIDER": "openai",
        "RECOLLECT_STORE": alone,
        "RECOLLECT_CACHE_MAX_MEGABYTES": "0",
    }


def push(host: MemoryHost, agent: str, count: int, *, words: int = 1) -> None:
    note = f"{agent} wrote {'note ' * words}"
    with host.memory(agent) as memory:
        memory.pushed.write(
            [
                PushedChange(f"memory/{number}.md", f"{note}{number}.".encode())
                for number in range(count)
            ]
        )


def test_a_memory_is_claimed_once_and_again_only_if_its_claim_runs_out(
    environ: dict[str, str], alone: str
) -> None:
    settings = {"store": alone, "provider": "none"}
    with MemoryHost.open(settings=settings, environ=environ) as host:
        queue = host.database
        queue.enqueue("one")
        queue.enqueue("two")

        first, second, none = (queue.claim(seconds=60) for _ in range(3))

        assert first is not None
        assert second is not None
        assert {"one", "two"} == {first.agent, second.agent}
        assert none is None
        queue.put_off(second, seconds=0)
        assert queue.renew(first, seconds=-1)  # as if its worker had been silent
        again = [queue.claim(seconds=60) for _ in range(2)]
        assert {"one", "two"} == {each.agent for each in again if each}
        assert not queue.renew(first, seconds=60)
        [taken] = [each for each in again if each and each.agent == "one"]
        queue.finish(first)  # too late: it is another's
        assert 2 == queue.waiting()
        queue.enqueue("one")  # changed while it was at work
        queue.finish(taken)
        assert 2 == queue.waiting()
        last = queue.claim(seconds=60)
        assert last is not None
        queue.finish(last)
        assert 1 == queue.waiting()


def test_at_the_same_moment_no_memory_is_claimed_twice(environ: dict[str, str], alone: str) -> None:
    claimed: list[str] = []
    settings = {"store": alone, "provider": "none"}
    with MemoryHost.open(settings=settings, environ=environ) as host:
        for number in range(20):
            host.database.enqueue(f"agent-{number}")
        start = threading.Barrier(4)

        def claim_all(queue: PostgresHost) -> None:
            start.wait()
            while (claim := queue.claim(seconds=60)) is not None:
                claimed.append(claim.agent)

        threads = [threading.Thread(target=claim_all, args=(host.database,)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    assert sorted(f"agent-{number}" for number in range(20)) == sorted(claimed)


def test_several_workers_embed_every_text_once(
    remote: dict[str, str], vendor: VendorServer
) -> None:
    with (
        MemoryHost.open(environ=remote) as host,
        MemoryHost.open(environ=remote) as one,
        MemoryHost.open(environ=remote) as other,
    ):
        for agent in AGENTS:
            push(host, agent, 3)
        workers = [QueueWorker(each) for each in (one, other, other)]
        for each in workers:
            each.start()
        wait_until(lambda: host.database.waiting() == 0)
        for each in workers:
            each.stop()
        with host.memory(AGENTS[0]) as memory:
            embedded = notes_of(vendor)
            results = memory.answer(SearchRequest("note 2"))
            pending = memory.status().legs.vector.pending

    assert {1} == set(embedded.values())
    assert 3 * len(AGENTS) == len(embedded)
    assert ("hybrid", None, 0) == (results.mode, results.degraded, pending)


def test_a_large_memory_is_embedded_in_slices_and_others_go_between(
    remote: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "SLICE_TEXTS", 4)
    worked: list[tuple[str, int]] = []

    def note(agent: str, ended: object) -> None:
        assert isinstance(ended, Report)
        worked.append((agent, ended.pending))

    with MemoryHost.open(environ=remote) as host:
        for agent, count in (("large", 10), ("small", 1)):
            push(host, agent, count)
        worker = QueueWorker(host, on_sync=note)
        while worker.work_once():
            pass

    assert [("large", 6), ("small", 0), ("large", 2), ("large", 0)] == worked


def test_no_vector_of_a_hosted_memory_is_kept_on_the_disk_of_a_worker(
    remote: dict[str, str], vendor: VendorServer
) -> None:
    del remote["RECOLLECT_CACHE_MAX_MEGABYTES"]
    with MemoryHost.open(environ=remote) as host:
        for agent in AGENTS[:2]:
            with host.memory(agent) as memory:
                memory.pushed.write([PushedChange("memory/a.md", b"Both wrote the same.")])
        worker = QueueWorker(host)
        assert worker.work_once()
        measured = len(vendor.requests)
        assert worker.work_once()
        with host.memory(AGENTS[1]) as memory:
            assert memory.cache is None
            assert 1 == memory.status().legs.vector.chunks

    assert 2 * measured == len(vendor.requests)  # each measures the background, embeds its text


def test_what_no_worker_has_embedded_yet_is_said_to_wait_for_one(
    remote: dict[str, str],
) -> None:
    with MemoryHost.open(environ=remote) as host:
        push(host, AGENTS[0], 1)
        with host.memory(AGENTS[0]) as memory:
            found = memory.answer(SearchRequest("wrote", sync=False))

    assert ["memory/0.md"] == [hit.path for hit in found.hits]
    assert found.degraded is not None
    assert "A worker of the server embeds it" in found.degraded["vector"].action


def test_a_provider_that_fails_puts_the_memory_off(
    remote: dict[str, str], vendor: VendorServer
) -> None:
    ended: list[object] = []
    vendor.script = lambda _number, _request: refuse(401, "no such key")
    with MemoryHost.open(environ=remote) as host:
        queue = host.database
        push(host, AGENTS[0], 1)
        worker = QueueWorker(host, on_sync=lambda _agent, how: ended.append(how))

        assert worker.work_once()
        assert not worker.work_once()  # it is not due yet
        assert (1, 1) == (queue.waiting(), len(ended))
        with host.memory(AGENTS[0]) as memory:
            assert ["memory/0.md"] == [
                hit.path for hit in memory.answer(SearchRequest("wrote")).hits
            ]


def test_a_new_model_fills_its_space_beside_the_old_one_which_answers_until_then(
    remote: dict[str, str], vendor: VendorServer
) -> None:
    numbers = itertools.count()

    def script(_number: int, request: Request) -> Fault | None:
        """Answer the first request for notes, and refuse those after it."""
        return refuse(401, "no") if b"wrote" in request.raw and next(numbers) else None

    def spaces(host: MemoryHost) -> tuple[str, set[str], str]:
        with host.memory(AGENTS[0]) as memory:
            mode = memory.answer(SearchRequest("note 2", sync=False)).mode
            published = published_in(memory.store.spaces())
            assert published is not None
            return published.model, {each.model for each in memory.store.spaces()}, mode.value

    changed = {**remote, "RECOLLECT_MODEL": "text-embedding-3-large"}
    with MemoryHost.open(environ=remote) as host:
        push(host, AGENTS[0], 60, words=200)  # several requests
        QueueWorker(host).work_once()
        before = spaces(host)
    with MemoryHost.open(environ=changed) as host:
        queue = host.database
        create_token(queue, AGENTS[0], now=datetime.now(tz=UTC))
        queue.enqueue_all()
        vendor.script = script
        QueueWorker(host).work_once()
        half_way = spaces(host)
        vendor.script = lambda _number, _request: None
        with host.memory(AGENTS[0]) as memory:
            memory.sync(retry=True)
        after = spaces(host)

    old, new = before[0], "text-embedding-3-large"
    assert (old, {old}, "hybrid") == before
    assert (old, {old, new}, "hybrid") == half_way
    assert (new, {new}, "hybrid") == after


@pytest.mark.skipif(
    "ALL_QUESTIONS" not in os.environ, reason="takes long: `make test-postgres` runs it"
)
def test_a_killed_worker_is_followed_by_another(
    remote: dict[str, str], vendor: VendorServer
) -> None:
    asked, go_on, numbers = threading.Event(), threading.Event(), itertools.count()

    def hang(exchange: Exchange) -> None:
        asked.set()
        go_on.wait(PATIENCE_SECONDS)
        exchange.drop()

    def script(_number: int, request: Request) -> Fault | None:
        """Answer the first request for notes, and none after it."""
        return hang if b"wrote" in request.raw and next(numbers) else None

    def vectors() -> int:
        with host.memory(AGENTS[0]) as memory:
            return memory.status().legs.vector.chunks

    with MemoryHost.open(environ=remote) as host:
        queue = host.database
        push(host, AGENTS[0], 120, words=200)  # several requests
        vendor.script = script
        with working(remote) as killed:
            assert asked.wait(PATIENCE_SECONDS)
            wait_until(lambda: vectors() > 0)
            killed.kill()
        stored = notes_of(vendor)
        vendor.script = lambda _number, _request: None
        go_on.set()
        with working(remote):
            wait_until(lambda: queue.waiting() == 0)

        assert 120 == vectors()
    assert {1} == {notes_of(vendor)[text] for text in stored}
    assert 120 == len(notes_of(vendor))


@contextlib.contextmanager
def working(environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run `recollect server worker`."""
    command = [*recollect_command(), "server", "worker"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
