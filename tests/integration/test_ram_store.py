"""A memory whose index is in RAM: what its process can share, and what no other one can."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS

from recollect import Memory, Report, StoreError
from recollect.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RAM = {"provider": "none", "store": "ram:"}


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, environ=environ, settings=RAM) as opened:
        yield opened


def test_nothing_is_written_to_the_home(
    memory: Memory, write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("memory/a.md", "The quick brown fox.\n")
    memory.sync()

    assert ["memory/a.md"] == [hit.path for hit in memory.search("fox").hits]
    assert "ram:" == memory.status().index.location
    assert memory.status().cache is None
    assert not (tmp_path / "home").exists()


def test_the_index_ends_with_the_memory(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The quick brown fox.\n")
    with Memory.open(workspace, environ=environ, settings=RAM) as first:
        first.sync()
    with Memory.open(workspace, environ=environ, settings=RAM) as second:
        assert frozenset() == second.paths()
    with pytest.raises(StoreError, match="closed"):
        first.paths()


def test_a_worker_brings_its_changes_into_the_same_index(
    memory: Memory, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The quick brown fox.\n")
    ended: list[object] = []
    synced = threading.Event()

    def done(report: object) -> None:
        ended.append(report)
        synced.set()

    worker = memory.worker(on_sync=done, on_notice=print)
    worker.start()
    assert synced.wait(PATIENCE_SECONDS)
    worker.stop()

    assert [True] == [isinstance(report, Report) for report in ended]
    assert {"memory/a.md"} == memory.paths()
    assert ["memory/a.md"] == [hit.path for hit in memory.search("fox", sync=False).hits]


def test_another_process_cannot_finish_it_and_the_error_says_why(memory: Memory) -> None:
    assert not memory.is_behind
    with pytest.raises(UsageError, match="in RAM") as raised:
        memory.finish_in_background()

    assert "file:" in raised.value.action


@pytest.mark.parametrize("command", [["index"], ["index", "--watch"]])
def test_a_command_refuses_to_build_an_index_that_ends_with_it(
    workspace: Path, environ: dict[str, str], command: list[str]
) -> None:
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), *command],
        env={**environ, "RECOLLECT_STORE": "ram:"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert 0 != done.returncode
    assert "would be lost when this command ends" in done.stderr
    assert "`file:`" in done.stderr


def test_a_workspace_cannot_choose_the_store(workspace: Path, environ: dict[str, str]) -> None:
    (workspace / "recollect.toml").write_text('store = "ram:"\n', encoding="utf-8")

    with pytest.raises(ConfigError, match="store"):
        Memory.open(workspace, environ=environ)


def test_an_unknown_store_is_refused(workspace: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="store"):
        Memory.open(workspace, environ=environ, settings={"store": "cloud:"})
