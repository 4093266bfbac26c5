"""An index that is deleted or reset under a server is noticed and rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.http.servers import inside
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.background import worker
from recollect.ingest.lease import WriterLease
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http.servers import Inside


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(worker, "_HELD_SECONDS", 0.05)


@pytest.fixture
def plain(environ: dict[str, str], write: Callable[[str, str], Path]) -> dict[str, str]:
    write("memory/lamp.md", "The lantern is in the attic.\n")
    return {**environ, "RECOLLECT_PROVIDER": "none"}


def health(here: Inside) -> str:
    return str(httpx.get(f"{here.url}/health", timeout=PATIENCE_SECONDS).json()["status"])


def found(here: Inside) -> list[str]:
    asked = httpx.get(f"{here.url}/api/search?query=lantern", timeout=PATIENCE_SECONDS).json()
    return [hit["path"] for hit in asked["results"]]


def delete(memory: Memory) -> None:
    index = Path(memory.status().index.location)
    for file in sorted(index.parent.glob(f"{index.name}*"), reverse=True):  # itself last
        file.unlink()


@pytest.mark.parametrize("lose", [delete, Memory.reset])
def test_a_lost_index_is_rebuilt_without_a_question(
    workspace: Path, plain: dict[str, str], lose: Callable[[Memory], None]
) -> None:
    with (
        inside(workspace, plain, ServeOptions("127.0.0.1", 0)) as here,
        Memory.open(workspace, environ=plain) as other,
    ):
        wait_until(lambda: here.memory.last_sync.report)
        first = here.memory.last_sync.report

        lose(other)
        wait_until(lambda: here.memory.last_sync.report is not first)

        assert "ok" == health(here)
        assert ["memory/lamp.md"] == found(here)


def test_the_server_is_not_well_until_the_index_is_rebuilt(
    workspace: Path, plain: dict[str, str]
) -> None:
    with (
        inside(workspace, plain, ServeOptions("127.0.0.1", 0)) as here,
        Memory.open(workspace, environ=plain) as other,
    ):
        wait_until(lambda: here.memory.last_sync.report)
        lease = WriterLease(other.parts.store, purpose="a test")
        lease.acquire(on_wait=lambda _: None)
        other.reset()
        wait_until(lambda: health(here) != "ok")

        assert "degraded" == health(here)
        lease.release()
        wait_until(lambda: health(here) == "ok")
        assert ["memory/lamp.md"] == found(here)
