"""A home on a disk that became read-only: what is there can still be looked at and searched."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.contents import index_file
from tests.support.read_only import not_writable, on_read_only, without_override

from recollect import Memory
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable


def run_read_only(
    workspace: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    home = Path(environ["RECOLLECT_HOME"])
    command = [sys.executable, "-m", "recollect", "-w", str(workspace), *arguments]
    return subprocess.run(
        [*on_read_only(home), *command], env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture
def home(embedded_sample: Path, environ: dict[str, str]) -> Path:
    """A home with an index and a cache of vectors."""
    with Memory.open(embedded_sample, environ=environ) as memory:
        memory.sync()
    return Path(environ["RECOLLECT_HOME"])


@pytest.mark.usefixtures("home")
def test_status_is_shown_on_a_read_only_disk(sample: Path, environ: dict[str, str]) -> None:
    status = run_read_only(sample, environ, "status", "--json")

    assert 0 == status.returncode, status.stdout + status.stderr
    shown = json.loads(status.stdout)
    assert shown["cache"]["vectors"] > 0
    assert "not updated" in " ".join(shown["notices"])


def test_a_recall_is_answered_on_a_read_only_disk(
    sample: Path, environ: dict[str, str], home: Path
) -> None:
    recalled = run_read_only(sample, environ, "recall", "how do we keep backups safe")

    assert (0, True) == (recalled.returncode, "recollect-memory" in recalled.stdout)
    assert "Traceback" not in recalled.stderr
    assert not (home / "recalls").exists()


def test_a_damaged_cache_on_a_read_only_disk_is_a_notice(
    sample: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "cache" / "embeddings.sqlite").write_bytes(b"not a database, but long enough" * 200)

    status = run_read_only(sample, environ, "status", "--json")

    assert 0 == status.returncode, status.stdout + status.stderr
    shown = json.loads(status.stdout)
    assert shown["cache"] is None
    assert "embedding cache cannot be read" in " ".join(shown["notices"])


@pytest.mark.usefixtures("home")
def test_what_cannot_be_done_on_a_read_only_disk_fails(
    sample: Path, environ: dict[str, str]
) -> None:
    for arguments in (("index",), ("reset", "--yes")):
        done = run_read_only(sample, environ, *arguments, "--json")

        assert 1 == done.returncode
        assert "store_read_only" == json.loads(done.stdout)["error"]["type"]


@pytest.mark.parametrize("side_file", ["-wal", "-shm"])
def test_a_search_on_a_read_only_disk_sees_what_a_killed_process_had_committed(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    tmp_path: Path,
    side_file: str,
) -> None:
    """Both side files are left by a kill; only the log by a computer that went down."""
    environ["RECOLLECT_PROVIDER"] = "none"
    home = Path(environ["RECOLLECT_HOME"])
    write("memory/a.md", "The harbour opens at six.\n")
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        store = memory.parts.store
        assert isinstance(store, SqliteStore)
        store._connection.set_wal_hook(lambda *_: apsw.SQLITE_OK)  # no checkpoint
        write("memory/b.md", "The lighthouse was painted.\n")
        memory.sync()
        left = shutil.copytree(home, tmp_path / "left")
    file = index_file(left)
    if side_file == "-wal":
        file.with_name(file.name + "-shm").unlink()
    environ["RECOLLECT_HOME"] = str(left)

    done = run_read_only(workspace, environ, "search", "lighthouse", "--json")

    assert 0 == done.returncode, done.stderr
    assert ["memory/b.md"] == [hit["path"] for hit in json.loads(done.stdout)["results"]]


@pytest.mark.parametrize("is_left_open", [False, True], ids=["closed", "killed"])
def test_a_home_without_the_permission_to_write_can_be_searched(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    tmp_path: Path,
    *,
    is_left_open: bool,
) -> None:
    environ["RECOLLECT_PROVIDER"] = "none"
    home = Path(environ["RECOLLECT_HOME"])
    write("memory/a.md", "The harbour opens at six.\n")
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        if is_left_open:
            home = shutil.copytree(home, tmp_path / "left")
            environ["RECOLLECT_HOME"] = str(home)

    def run(*arguments: str) -> str:
        command = [*without_override(), sys.executable, "-m", "recollect", "-w", str(workspace)]
        done = subprocess.run(
            [*command, *arguments], env=environ, capture_output=True, text=True, check=False
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    with not_writable(home):
        found = json.loads(run("search", "harbour", "--json"))
        status, doctor, agents = run("status"), run("doctor"), run("status", "--all")
        run("doctor", "--verify")

    assert ["memory/a.md"] == [hit["path"] for hit in found["results"]]
    assert "1 file, 1 chunk" in status
    assert "\nwarn note: The index" in doctor
    assert "can only be read" in doctor
    assert "1 file, 1 chunk" in agents
