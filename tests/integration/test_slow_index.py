"""A package index that never finishes: a search answers by keyword, and a stop leaves nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from tests.support.file_server import QuietHandler, answering
from tests.support.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def dripping() -> Iterator[tuple[str, threading.Event]]:
    """Yield the address of a server that sends one byte after the other, and when it was asked."""
    asked, ended = threading.Event(), threading.Event()

    class Dripping(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802 - a name of http.server
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", "100000000")
            self.end_headers()
            asked.set()
            with suppress(OSError):  # the client has gone
                while not ended.wait(0.05):
                    self.wfile.write(b" ")

    with answering(Dripping) as port:
        try:
            yield f"http://127.0.0.1:{port}/simple", asked
        finally:
            ended.set()


@pytest.fixture
def new_machine(environ: dict[str, str], workspace: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of someone who has no model yet."""
    (workspace / "MEMORY.md").write_text("The kettle is blue.\n", encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    return {
        **environ,
        "RECOLLECT_LOCAL_MODEL_CACHE": str(tmp_path / "models"),
        "TMPDIR": str(tmp_path / "temporary"),
        "HF_HUB_OFFLINE": "1",
        "PIP_CONFIG_FILE": "/dev/null",
    }


def start(workspace: Path, environ: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "recollect", "-w", str(workspace), "search", "kettle"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_search_answers_by_keyword_whatever_the_download_does(
    workspace: Path, new_machine: dict[str, str]
) -> None:
    with dripping() as (url, asked):
        search = start(workspace, new_machine | {"PIP_INDEX_URL": url})
        printed, said = search.communicate(timeout=PATIENCE_SECONDS)

    assert asked.is_set()
    assert (0, True) == (search.returncode, "The kettle is blue." in printed)
    assert "pip did not finish within 8 s" in said
    assert "run `recollect index`" in said


def test_a_download_that_is_stopped_leaves_nothing_in_the_temporary_folder(
    workspace: Path, new_machine: dict[str, str], tmp_path: Path
) -> None:
    with dripping() as (url, asked):
        search = start(workspace, new_machine | {"PIP_INDEX_URL": url})
        assert asked.wait(PATIENCE_SECONDS)
        search.terminate()
        search.communicate(timeout=PATIENCE_SECONDS)

    assert [] == list((tmp_path / "temporary").iterdir())
