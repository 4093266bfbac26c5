"""What a user sees when the index, the disk or the process breaks, and what is left afterwards."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.errors import StoreFullError, StoreTooNewError
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

RECOLLECT = Path(sys.executable).parent / "recollect"


def run(
    workspace: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", workspace, *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def index_file(environ: dict[str, str]) -> Path:
    return next((Path(environ["RECOLLECT_HOME"]) / "memory").glob("*.sqlite"))


def contents(path: Path) -> list[tuple[object, ...]]:
    """Everything a search can see, independent of row ids."""
    connection = apsw.Connection(str(path))
    rows = connection.execute(
        "SELECT d.path, d.digest, c.start_line, c.end_line, c.text, c.heading, v.vector"
        " FROM documents d JOIN chunks c ON c.document = d.id"
        " LEFT JOIN vectors v ON v.id & ((1 << 40) - 1) = c.text_id ORDER BY 1, 3, 4, 5"
    )
    return list(rows)


@pytest.mark.parametrize("damage", ["header", "middle", "truncated", "text"])
def test_a_damaged_index_is_set_aside_and_rebuilt(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], damage: str
) -> None:
    for number in range(40):
        write(f"memory/{number}.md", f"# Note {number}\n\n" + f"Word{number} and more. " * 60)
    environ["RECOLLECT_PROVIDER"] = "none"
    run(workspace, environ, "index")
    file = index_file(environ)
    content = bytearray(file.read_bytes())
    if damage == "header":
        content[:16] = b"not a database!!"
    elif damage == "middle":
        content[4096:-4096] = random.Random(7).randbytes(len(content) - 8192)
    elif damage == "truncated":
        del content[len(content) // 2 :]
    else:
        content = bytearray(b"hello, I am a text file\n" * 100)
    file.write_bytes(content)

    done = run(workspace, environ, "search", "word17", "--json")

    assert 0 == done.returncode, done.stderr
    assert "memory/17.md" == json.loads(done.stdout)["results"][0]["path"]
    assert "set aside" in done.stderr
    assert 1 == len(list(file.parent.glob("*.damaged-1")))
    assert 0 == run(workspace, environ, "doctor").returncode


def test_a_full_disk_is_named_and_the_old_index_is_intact(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/old.md", "The old note.\n")
    environ["RECOLLECT_PROVIDER"] = "none"
    run(workspace, environ, "index")
    before = contents(index_file(environ))
    write("memory/new.md", "The new note is long. " * 40_000)
    largest = max(file.stat().st_size for file in index_file(environ).parent.iterdir())

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 65_536, largest + 65_536))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [RECOLLECT, "-w", workspace, "index", "--json"],
        env=environ,
        preexec_fn=limit_file_size,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert json.loads(done.stdout)["error"]["action"]
    assert before == contents(index_file(environ))
    assert 0 == run(workspace, environ, "index").returncode


def test_a_store_without_room_says_so_and_keeps_what_it_has(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/old.md", "The old note.\n")
    settings = {"provider": "none"}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        memory.sync()
        store = memory.parts.store
        assert isinstance(store, SqliteStore)
        pages = store._connection.pragma("page_count")
        store._connection.pragma("max_page_count", pages)
        write("memory/new.md", "The new note is long. " * 4_000)

        with pytest.raises(StoreFullError) as raised:
            memory.sync()

        assert "Free disk space" in raised.value.action
        assert ["memory/old.md"] == [hit.path for hit in memory.search("note").hits]


def test_a_home_that_cannot_be_written_is_named(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    environ["RECOLLECT_HOME"] = "/proc/no-such-place"

    done = run(workspace, environ, "search", "apple", "--json")

    assert 1 == done.returncode
    error = json.loads(done.stdout)["error"]
    assert "store_read_only" == error["type"]
    assert "RECOLLECT_HOME" in error["action"]


def test_an_index_that_cannot_be_written_is_searched_as_it_is(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    environ["RECOLLECT_PROVIDER"] = "none"
    run(workspace, environ, "index")
    file = index_file(environ)
    write("memory/b.md", "apple too\n")

    with SqliteStore.open(file, writable=False) as store:
        assert not store.is_writable
        assert 1 == store.status(None).chunks


def test_an_index_of_a_newer_version_is_refused_and_left_alone(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    environ["RECOLLECT_PROVIDER"] = "none"
    run(workspace, environ, "index")
    connection = apsw.Connection(str(index_file(environ)))
    connection.pragma("user_version", 999)
    connection.close()

    done = run(workspace, environ, "search", "apple", "--json")

    assert "store_too_new" == json.loads(done.stdout)["error"]["type"]
    with pytest.raises(StoreTooNewError):
        SqliteStore.open(index_file(environ))
    assert 999 == apsw.Connection(str(index_file(environ))).pragma("user_version")
    assert 0 == run(workspace, environ, "reset", "--yes").returncode
    assert "a.md" in run(workspace, environ, "search", "apple").stdout


def count_of(table: str, environ: dict[str, str]) -> int:
    """Return how many rows of a table are committed; 0 while there is no index yet."""
    try:
        connection = apsw.Connection(str(index_file(environ)), flags=apsw.SQLITE_OPEN_READONLY)
        rows = int(connection.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608
        connection.close()
    except (apsw.Error, StopIteration):
        return 0
    return rows


def kill_an_index_run(workspace: Path, environ: dict[str, str], *, after: str) -> bool:
    """Kill a run as soon as it has added to a table; tell whether the kill came in time."""
    before = count_of(after, environ)
    process = subprocess.Popen(
        [RECOLLECT, "-w", workspace, "index"], env=environ, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: count_of(after, environ) > before or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def write_a_hundred_notes(write: Callable[[str, str], Path]) -> None:
    """Write more notes than are embedded in one step."""
    for number in range(100):
        write(f"memory/{number}.md", f"Note {number} about subject {number % 7}.\n" * 8)


def test_killed_anywhere_the_next_run_ends_as_an_undisturbed_one(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write_a_hundred_notes(write)
    undisturbed = {**environ, "RECOLLECT_HOME": str(tmp_path / "undisturbed")}
    run(workspace, undisturbed, "index")
    expected = contents(index_file(undisturbed))

    kills = [
        kill_an_index_run(workspace, environ, after=table)
        for table in ("documents", "vectors", "vectors")
    ]
    done = run(workspace, environ, "index", "--json")

    assert any(kills)
    assert 0 == done.returncode, done.stderr
    assert expected == contents(index_file(environ))


def test_nothing_embedded_is_embedded_again_after_a_kill(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write_a_hundred_notes(write)
    kill_an_index_run(workspace, environ, after="vectors")
    stored = count_of("vectors", environ)

    report = json.loads(run(workspace, environ, "index", "--json").stdout)

    assert 0 < stored < 100
    assert (100 - stored, 0) == (report["embedded"], report["pending"])


def test_two_index_runs_at_once_end_in_one_right_index(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    for number in range(60):
        write(f"memory/{number}.md", f"# {number}\n\nNote {number}.\n")
    environ["RECOLLECT_PROVIDER"] = "none"
    alone = {**environ, "RECOLLECT_HOME": str(tmp_path / "alone")}
    run(workspace, alone, "index")
    both = [
        subprocess.Popen(
            [RECOLLECT, "-w", workspace, "index"], env=environ, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]

    said = [process.communicate()[1] for process in both]

    assert [0] * 4 == [process.returncode for process in both]
    assert {"", "Waiting for recollect index"} >= {sentence[:27] for sentence in said}
    assert contents(index_file(alone)) == contents(index_file(environ))


def test_opening_and_closing_fifty_times_leaks_no_descriptor(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    descriptors = Path(f"/proc/{os.getpid()}/fd")
    for turn in range(50):
        with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
            memory.sync()
            memory.search("apple")
        if turn == 0:
            before = len(list(descriptors.iterdir()))

    assert before == len(list(descriptors.iterdir()))


def test_doctor_warns_of_an_index_that_was_set_aside(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    environ["RECOLLECT_PROVIDER"] = "none"
    write("memory/a.md", "The harbour opens at six.\n")
    run(workspace, environ, "index")
    file = index_file(environ)
    file.write_bytes(b"no database\n" * 1_000)

    text = run(workspace, environ, "doctor").stdout

    [note] = [line for line in text.splitlines() if " note: " in line]
    assert note.startswith(f"warn note: The index {file} was damaged (")
    assert "It was set aside as" in note
    assert "is being rebuilt from the files." in note


def test_doctor_counts_the_files_that_an_empty_index_lacks(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    environ["RECOLLECT_PROVIDER"] = "none"
    for name in ("a", "b"):
        write(f"memory/{name}.md", "The harbour opens at six.\n")

    text = run(workspace, environ, "doctor").stdout
    shown = json.loads(run(workspace, environ, "doctor", "--json").stdout)

    assert f"warn index: 0 chunks in {index_file(environ)}, intact; 2 files not indexed" in text
    assert ["index"] == [each["name"] for each in shown["checks"] if each["warning"]]
    assert shown["ok"]


def test_a_folder_in_the_place_of_the_index_is_said_to_be_one(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    environ["RECOLLECT_PROVIDER"] = "none"
    write("memory/a.md", "The harbour opens at six.\n")
    run(workspace, environ, "index")
    file = index_file(environ)
    file.unlink()
    file.mkdir()

    done = run(workspace, environ, "search", "harbour")

    assert 1 == done.returncode
    assert f"The index {file} is a folder" in done.stderr
    assert "Rename or remove that folder" in done.stderr
