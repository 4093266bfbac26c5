"""The first requests to a server that Recollect has never asked before: all end embedded."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, command, notes_of, write_notes
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, refuse, slow, wait_and_retry

from recollect import Memory
from recollect.providers.remote import provider
from recollect.providers.remote.pace import FOR_INDEXING, FOR_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.vendors.server import Fault, Request

NOTES = 61


@pytest.fixture
def server() -> Iterator[VendorServer]:
    with VendorServer(OpenAiFormat(), key=KEY) as running:
        yield running


@pytest.fixture
def remote(environ: dict[str, str], server: VendorServer, workspace: Path) -> dict[str, str]:
    write_notes(workspace, NOTES)
    return {
        **environ,
        "RECOLLECT_PROVIDER": "openai",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the number of attempts, and wait for next to nothing between them."""
    short = replace(FOR_INDEXING, first_seconds=0.001)
    monkeypatch.setattr(provider, "FOR_INDEXING", short)


def at_most(texts: int) -> Callable[[int, Request], Fault | None]:
    def script(_number: int, request: Request) -> Fault | None:
        given = request.body["input"]
        assert isinstance(given, list)
        return refuse(400, f"at most {texts} inputs") if len(given) > texts else None

    return script


@pytest.mark.parametrize("limit", [1, 2, 10, 16, 19, 20, 60])
def test_a_server_of_any_item_limit_is_embedded(
    workspace: Path, remote: dict[str, str], server: VendorServer, limit: int
) -> None:
    server.script = at_most(limit)

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert (None, NOTES, 0) == (report.degraded, report.embedded, report.pending)
    assert {1} == set(notes_of(server).values())
    assert limit >= max(server.sizes)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_at_first_is_embedded(
    workspace: Path, remote: dict[str, str], server: VendorServer, status: int
) -> None:
    busy = 20  # requests; with real waits this is more than a minute
    server.script = lambda number, _: refuse(status, "a moment") if number <= busy else None

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert (None, NOTES, 0) == (report.degraded, report.embedded, report.pending)


def test_two_refusals_on_the_first_index_do_not_leave_it_without_vectors(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    server.script = lambda number, _: wait_and_retry(1) if number <= 2 else None

    done = command(workspace, remote, "index", "--json")

    shape = json.loads(done.stdout)
    assert (0, None, NOTES) == (done.returncode, shape["degraded"], shape["embedded"])


def test_a_server_that_loads_its_model_at_the_first_request_is_waited_for(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = replace(FOR_QUESTIONS, total_seconds=0.1)
    monkeypatch.setattr(provider, "FOR_QUESTIONS", short)
    server.script = lambda number, _: slow(1.0) if number == 1 else None

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert (None, NOTES) == (report.degraded, report.embedded)
    assert 3 <= len(server.requests) <= 4  # the first one was not sent again


def test_a_request_may_take_as_long_as_its_timeout_says(
    workspace: Path,
    remote: dict[str, str],
    server: VendorServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = replace(FOR_INDEXING, total_seconds=0.1)
    monkeypatch.setattr(provider, "FOR_INDEXING", short)
    server.script = lambda number, _: slow(1.0) if number == 1 else None

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert (None, NOTES) == (report.degraded, report.embedded)


def test_a_text_of_ours_that_a_server_refuses_does_not_keep_yours_from_being_embedded(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    server.script = lambda _, request: (
        refuse(400, "not this one") if b"password policy" in request.raw else None
    )

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert (None, NOTES) == (report.degraded, report.embedded)


def test_a_run_that_embedded_nothing_fails_with_the_reason(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    server.script = lambda _number, _: refuse(401, "the key is wrong")

    done = command(workspace, remote, "index")
    found = command(workspace, remote, "search", "harbour")

    assert 1 == done.returncode
    assert "Indexed for keyword search only: openai answered 401" in done.stderr
    assert 0 == found.returncode


def test_a_run_that_could_not_embed_what_is_new_fails_and_the_next_one_mends_it(
    workspace: Path, remote: dict[str, str], server: VendorServer
) -> None:
    assert 0 == command(workspace, remote, "index").returncode
    (workspace / "MEMORY.md").write_text("The submarine cable lands.\n", encoding="utf-8")

    server.script = lambda _number, _: refuse(401, "the key is wrong")
    failed = command(workspace, remote, "index")
    server.script = lambda _number, _: None
    mended = command(workspace, remote, "index")

    assert (1, True) == (failed.returncode, "Not everything is embedded" in failed.stderr)
    assert 0 == mended.returncode


def test_keyword_search_alone_is_no_failure_if_it_was_asked_for(
    workspace: Path, remote: dict[str, str]
) -> None:
    done = command(workspace, {**remote, "RECOLLECT_PROVIDER": "none"}, "index")

    assert (0, "") == (done.returncode, done.stderr)
