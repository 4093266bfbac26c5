"""Indexing and searching through a vendor's server, from the command line's own process inwards."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, command, notes_of, write_notes
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, hang, refuse, slow

from recollect import Memory
from recollect.ingest import sync
from recollect.providers.calibrate import NOTES, QUESTIONS
from recollect.providers.remote import provider
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.vendors.server import Fault, Request


@pytest.fixture
def server() -> Iterator[VendorServer]:
    with VendorServer(OpenAiFormat(), key=KEY) as running:
        yield running


@pytest.fixture
def remote(environ: dict[str, str], server: VendorServer) -> dict[str, str]:
    """An environment whose provider is the vendor's server on loopback."""
    return {
        **environ,
        "RECOLLECT_PROVIDER": "openai",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }


def test_five_hundred_small_files_take_as_few_requests_as_the_tokens_allow(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 500)

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    notes = notes_of(server)
    tokens = sum(estimate_tokens(text) for text in notes)
    requests = [size for size in server.sizes if size not in (len(NOTES), len(QUESTIONS))]
    assert 500 == report.embedded == len(notes)
    assert {1} == set(notes.values())
    assert -(-tokens // 8000) == len(requests)
    assert len(server.requests) == len(requests) + 2  # the space was measured once
    assert report.tokens == tokens


def test_a_search_by_meaning_goes_through_the_server(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    del server
    write_notes(workspace, 30)
    (workspace / "MEMORY.md").write_text("The submarine cable lands at dawn.\n", encoding="utf-8")

    command(workspace, remote, "index")
    answer = command(workspace, remote, "search", "submarine cable", "--json")

    shape = json.loads(answer.stdout)
    assert 0 == answer.returncode
    assert ("hybrid", "openai", "text-embedding-3-small") == (
        shape["mode"],
        shape["provider"],
        shape["model"],
    )
    assert "MEMORY.md" == shape["results"][0]["path"]
    assert shape["results"][0]["vectorScore"] > 0.5
    assert shape["degraded"] is None


def test_a_server_that_fails_three_requests_in_ten_ends_complete_with_nothing_twice(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    impatient(monkeypatch)
    chance = random.Random(3)

    def script(_number: int, _request: Request) -> Fault | None:
        kind = chance.random()
        if kind < 0.1:
            return refuse(429, "slow down", headers={"retry-after": "0"})
        if kind < 0.2:
            return refuse(500, "the server had an error")
        if kind < 0.3:
            return refuse(503, "overloaded")
        return None

    server.script = script
    write_notes(workspace, 400, words=400)

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert report.degraded is None
    assert 0 == report.pending
    assert {1} == set(notes_of(server).values())
    assert len(server.requests) > len(server.sizes)


def test_a_killed_run_is_resumed_with_the_rest_only(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 200, words=600)
    enough = threading.Event()

    def script(number: int, _request: Request) -> Fault | None:
        if number > 8:
            enough.set()
            return slow(1.0)
        return None

    server.script = script
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", "-w", str(workspace), "index"],
        env=remote,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert enough.wait(PATIENCE_SECONDS)
    running.send_signal(signal.SIGKILL)
    running.wait(PATIENCE_SECONDS)
    server.script = lambda *_: None
    with Memory.open(workspace, environ=remote) as memory:
        kept = memory.status().legs.vector.chunks
    server.embedded.clear()

    done = command(workspace, remote, "index", "--json")

    report = json.loads(done.stdout)
    assert kept > 0
    assert report["chunks"] - kept == report["embedded"] == len(notes_of(server))
    assert 0 == report["pending"]


def test_interrupting_a_run_ends_it_soon_and_keeps_what_was_paid(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 200, words=600)
    enough = threading.Event()

    def script(number: int, _request: Request) -> Fault | None:
        if number > 8:
            enough.set()
        return slow(0.2)

    server.script = script
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", "-w", str(workspace), "index"],
        env=remote,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert enough.wait(PATIENCE_SECONDS)
    running.send_signal(signal.SIGINT)
    _, complaint = running.communicate(timeout=PATIENCE_SECONDS)

    server.script = lambda *_: None
    paid = len(notes_of(server))
    with Memory.open(workspace, environ=remote) as memory:
        kept = memory.status().legs.vector.chunks
    assert 0 != running.returncode, complaint
    assert "Traceback" not in complaint
    assert paid == kept


@pytest.mark.parametrize("status", [401, 500])
def test_a_failing_server_degrades_the_search_and_says_what_to_do(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    impatient(monkeypatch)
    write_notes(workspace, 5)
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
        server.script = lambda *_: refuse(status, f"bad key {KEY}")

        results = memory.search("violin")

    assert results.hits
    assert "keyword" == results.mode
    assert results.degraded is not None
    assert str(status) in results.degraded["vector"].reason
    assert KEY not in results.degraded["vector"].reason
    assert results.degraded["vector"].action


def test_no_key_degrades_before_anything_is_sent(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 5)
    without = {**remote, "OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}

    with Memory.open(workspace, environ=without) as memory:
        report = memory.sync()
        results = memory.search("violin")

    assert [] == server.requests
    assert report.degraded is not None
    assert "OPENAI_API_KEY" in report.degraded["vector"].reason
    assert results.hits
    assert results.degraded is not None


def test_the_key_is_in_no_file_no_output_and_no_message(
    tmp_path: Path, workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 20)
    server.script = lambda number, _: refuse(400, f"{KEY} may not") if number % 4 == 1 else None

    outputs = [
        command(workspace, remote, *arguments)
        for arguments in (
            ("index", "--json"),
            ("search", "violin ledger", "--explain", "--json"),
            ("status", "--deep", "--json"),
            ("status", "--deep"),
            ("doctor",),
        )
    ]
    wrong = {**remote, "RECOLLECT_REMOTE_API_KEY": KEY}
    outputs.append(command(workspace, wrong, "index", "--json"))

    assert server.requests
    assert 0 != outputs[-1].returncode
    assert [] == [done.args for done in outputs if KEY in done.stdout + done.stderr]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [] == [file for file in files if KEY.encode() in file.read_bytes()]


def test_a_literal_key_in_the_settings_is_refused_and_not_shown(
    workspace: Path, remote: dict[str, str]
) -> None:
    done = command(workspace, {**remote, "RECOLLECT_REMOTE_API_KEY": KEY}, "status")

    assert 1 <= done.returncode <= 2
    assert "env:NAME" in done.stderr
    assert KEY not in done.stderr


def test_another_variable_can_hold_the_key(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 3)
    other = {
        **remote,
        "OPENAI_API_KEY": "another",
        "TEAM_KEY": KEY,
        "RECOLLECT_REMOTE_API_KEY": "env:TEAM_KEY",
    }

    with Memory.open(workspace, environ=other) as memory:
        report = memory.sync()

    assert report.degraded is None
    assert {f"Bearer {KEY}"} == {request.headers["authorization"] for request in server.requests}


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the number of attempts, and wait for next to nothing between them."""
    for name in ("FOR_INDEXING", "FOR_QUESTIONS"):
        monkeypatch.setattr(provider, name, replace(getattr(provider, name), first_seconds=0.001))


def test_a_refused_text_is_asked_for_by_index_and_not_by_every_search(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    write_notes(workspace, 10)
    (workspace / "memory" / "odd.md").write_text("An unwanted text.\n", encoding="utf-8")
    server.script = lambda _, request: (
        refuse(400, "not this one") if "An unwanted text." in request.raw.decode() else None
    )
    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()
        server.requests.clear()

        results = memory.search("violin")
        is_behind = memory.is_behind
        asked = [request for request in server.requests if b"unwanted" in request.raw]
        server.script = lambda *_: None
        again = memory.sync()

    assert (10, 1) == (report.embedded, report.pending)
    assert report.degraded is not None
    assert "hybrid" == results.mode
    assert [] == asked
    assert not is_behind
    assert (1, 0) == (again.embedded, again.pending)


def test_a_server_that_hangs_does_not_hang_a_search(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_notes(workspace, 5)
    released = threading.Event()
    monkeypatch.setattr(sync, "CHEAP", replace(sync.CHEAP, embed_seconds=0.2))
    with Memory.open(workspace, environ=remote) as memory:
        memory.sync()
        (workspace / "memory" / "later.md").write_text("A later lantern.\n", encoding="utf-8")
        server.script = lambda _, request: hang(released) if b"later" in request.raw else None

        results = memory.search("lantern")
        released.set()

    assert "memory/later.md" in [hit.path for hit in results.hits]
    assert "hybrid" == results.mode
    assert any("1 chunk is not embedded yet" in notice for notice in results.notices)
