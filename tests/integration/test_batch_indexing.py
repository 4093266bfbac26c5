"""A big first run through the vendor's Batch API, from the façade."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, write_notes
from tests.vendors.batches import OpenAiDesk
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer

from recollect import Memory
from recollect.ingest import fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StoppedError(Exception):
    """Ends a run as a killed process would."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "_wait", lambda _seconds: True)


@pytest.fixture
def desk() -> OpenAiDesk:
    return OpenAiDesk()


@pytest.fixture
def remote(environ: dict[str, str], desk: OpenAiDesk) -> Iterator[dict[str, str]]:
    with VendorServer(OpenAiFormat(), key=KEY, route=desk) as server:
        yield {
            **environ,
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_REMOTE_BATCH": "true",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }


def test_a_big_run_is_handed_in_as_batches_and_searched_afterwards(
    workspace: Path, remote: dict[str, str], desk: OpenAiDesk
) -> None:
    write_notes(workspace, 600)

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()
        results = memory.search("violin lantern")

    assert 600 == report.embedded == len(desk.embedded)
    assert 0 == report.pending
    assert 1 == len(desk.batches)
    assert "hybrid" == results.mode


def test_a_small_run_is_not_worth_a_batch(
    workspace: Path, remote: dict[str, str], desk: OpenAiDesk
) -> None:
    write_notes(workspace, 20)

    with Memory.open(workspace, environ=remote) as memory:
        report = memory.sync()

    assert 20 == report.embedded
    assert {} == desk.batches


def test_a_run_killed_while_it_waits_is_collected_by_the_next_without_paying_twice(
    workspace: Path,
    remote: dict[str, str],
    desk: OpenAiDesk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_notes(workspace, 600)
    desk.looks_until_over = 2

    def killed(_seconds: float) -> bool:
        raise StoppedError

    monkeypatch.setattr(fill, "_wait", killed)
    with Memory.open(workspace, environ=remote) as memory, pytest.raises(StoppedError):
        memory.sync()
    monkeypatch.setattr(fill, "_wait", lambda _seconds: True)
    (workspace / "memory" / "later.md").write_text("A later note.\n", encoding="utf-8")
    with Memory.open(workspace, environ=remote) as memory:
        during = memory.sync(max_texts=64)
        after = memory.sync()

    assert {1} == set(desk.embedded.values())
    assert 1 == len(desk.batches)
    assert 1 == during.embedded  # the later note; what the batch is to bring is left alone
    assert 601 == after.chunks
    assert 0 == after.pending
