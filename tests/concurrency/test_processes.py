"""Many processes on one index: kills, leases, readers, cold starts, and what is left behind."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.contents import contents, differences
from tests.support.edits import save
from tests.support.kill_points import kill_points
from tests.support.stress import Cast, stress
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import Memory
from recollect.stores.sqlite import pages
from recollect.stores.sqlite.connect import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.concurrency.conftest import Commands, HeldUp

    Write = Callable[[str, str], Path]

HOLD_A_TRANSACTION = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE; UPDATE totals SET length = length")
print("begun", flush=True)
sys.stdin.read()
"""


def write_notes(write: Write, count: int) -> None:
    for number in range(count):
        write(f"memory/{number}.md", f"# Note {number}\n\nSubject{number} and a lantern.\n")


def paths_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert 0 == done.returncode, done.stderr
    return [hit["path"] for hit in json.loads(done.stdout)["results"]]


def troubles(said: str) -> str:
    """Return what a command said, but for where it sends texts."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if " of this memory go to openai " not in line)


def test_indexing_searching_watching_editing_and_killing_at_once_ends_in_one_right_index(
    tmp_path: Path,
) -> None:
    cast = Cast(indexing=1, watching=1, searching=1, acting=1, editing=1)

    tally = stress(tmp_path, count=3, seed=5, cast=cast, notes=40)

    assert [] == tally.failures
    assert all(tally.counts[what] >= times for what, times in cast.wanted(3).items())


def test_a_run_killed_at_any_point_is_made_good_by_the_next_one(tmp_path: Path) -> None:
    counts, failures = kill_points(tmp_path, count=12, seed=2)

    assert [] == failures
    assert 12 == sum(times for what, times in counts.items() if what.startswith("killed"))


def test_a_note_saved_while_another_process_indexes_is_found_at_once(
    workspace: Path, commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write_notes(write, 10)
    running = commands.start("index")
    wait_until(commands.holder)

    with Memory.open(workspace, environ=commands.environ) as memory:
        for turn in range(20):
            path, word = save(workspace, name="test", turn=turn)
            results = memory.search(word)

            assert path in [hit.path for hit in results.hits if word in hit.snippet]
            assert f"(process {running.pid}, for " in results.notices[-1]
    held_up.released.set()
    _, said = running.communicate(timeout=PATIENCE_SECONDS)

    assert (0, "") == (running.returncode, troubles(said))


def test_a_note_saved_while_others_take_in_the_same_files_is_found_at_once(
    workspace: Path, commands: Commands, write: Write
) -> None:
    write_notes(write, 30)
    stopped = threading.Event()
    failures: list[str] = []

    def sync_again_and_again() -> None:
        with Memory.open(workspace, environ=commands.environ) as memory:
            while not stopped.is_set():
                if memory.sync(force=True).failed:
                    failures.append("a file could not be read")

    others = [threading.Thread(target=sync_again_and_again) for _ in range(2)]
    for thread in others:
        thread.start()
    try:
        with Memory.open(workspace, environ=commands.environ) as memory:
            missed = []
            for turn in range(60):
                file = workspace / "memory" / "own.md"
                file.write_text(f"The word is zq{turn}w.\n", encoding="utf-8")
                if not memory.search(f"zq{turn}w").hits:
                    missed.append(turn)
    finally:
        stopped.set()
        for thread in others:
            thread.join()

    assert [] == missed
    assert [] == failures


def test_a_note_is_found_throughout_while_it_is_stored_again(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write, 5)
    stopped = threading.Event()

    def store_anew() -> None:
        with Memory.open(workspace, environ=environ) as own:
            while not stopped.is_set():
                own.sync(force=True)

    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        other = threading.Thread(target=store_anew)
        other.start()
        found = [bool(memory.search("subject3", sync=False).hits) for _ in range(300)]
        stopped.set()
        other.join()

    assert [True] * 300 == found


def test_a_second_index_waits_and_says_for_whom(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write_notes(write, 3)
    first = commands.start("index")
    wait_until(commands.holder)
    second = commands.start("index")
    assert second.stderr is not None

    said = second.stderr.readline()
    held_up.released.set()
    codes = [child.wait(PATIENCE_SECONDS) for child in (first, second)]

    assert said.startswith(f"Waiting for recollect index (process {first.pid}, for ")
    assert said.endswith(" s) to finish …\n")
    assert [0, 0] == codes
    assert commands.holder() is None


@pytest.mark.parametrize("is_noticed", [False, True])
def test_the_lease_of_a_killed_index_is_taken_over_at_once(
    commands: Commands, held_up: HeldUp, write: Write, *, is_noticed: bool
) -> None:
    write_notes(write, 3)
    first = commands.start("index")
    wait_until(commands.holder)
    first.send_signal(signal.SIGKILL)
    if is_noticed:
        first.wait()
    left = commands.holder()
    held_up.released.set()

    done = commands.run("index")

    assert first.pid == getattr(left, "pid", None)
    assert (0, "") == (done.returncode, troubles(done.stderr))
    assert 0 == commands.run("doctor", "--verify").returncode
    assert commands.holder() is None


def test_after_a_kill_a_search_answers_and_finishes_what_was_left(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write_notes(write, 3)
    first = commands.start("index")
    wait_until(commands.holder)
    first.kill()
    first.wait()
    held_up.released.set()

    done = commands.run("search", "subject1", "--json")

    assert "memory/1.md" == paths_of(done)[0]
    assert "is at work on it" not in done.stderr
    assert 0 == json.loads(commands.run("doctor", "--verify", "--json").stdout)["pending"]


def test_while_the_holder_is_stopped_searches_answer_at_once(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write_notes(write, 3)
    first = commands.start("index")
    wait_until(held_up.asked.is_set)
    first.send_signal(signal.SIGSTOP)
    write("memory/later.md", "Saved while the other slept.\n")

    done = commands.run("search", "slept", "--json")
    first.send_signal(signal.SIGCONT)
    held_up.released.set()
    _, said = first.communicate(timeout=PATIENCE_SECONDS)

    assert ["memory/later.md"] == paths_of(done)[:1]
    assert f"recollect index (process {first.pid}, for " in done.stderr
    assert (0, "") == (first.returncode, troubles(said))


def test_a_holder_that_was_silent_for_too_long_is_replaced_and_does_not_go_on(
    commands: Commands, held_up: HeldUp, write: Write
) -> None:
    write_notes(write, 3)
    first = commands.start("index")
    wait_until(held_up.asked.is_set)  # it waits for the provider, not inside a transaction
    first.send_signal(signal.SIGSTOP)
    connection = apsw.Connection(str(commands.index))
    connection.execute("UPDATE leases SET beat = beat - 60")
    connection.close()
    second = commands.start("index")
    wait_until(lambda: (holder := commands.holder()) and holder.pid == second.pid)
    first.send_signal(signal.SIGCONT)
    held_up.released.set()

    said = [child.communicate(timeout=PATIENCE_SECONDS)[1] for child in (first, second)]

    assert [0, 0] == [child.returncode for child in (first, second)], said
    assert "" == troubles(said[1])
    assert commands.holder() is None


@pytest.mark.parametrize("command", [("search", "lantern"), ("status",), ("get", "memory/1.md")])
def test_while_another_process_writes_without_an_end_reading_is_not_held_up(
    commands: Commands, write: Write, command: tuple[str, ...]
) -> None:
    write_notes(write, 3)
    commands.run("index")
    write("memory/later.md", "Saved while the other writes: a lantern.\n")
    writer = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_TRANSACTION, str(commands.index)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert "begun\n" == writer.stdout.readline()

    done = commands.run(*command)
    writer.communicate("")

    assert 0 == done.returncode, done.stderr
    assert "lantern" in done.stdout or command == ("status",)
    assert "locked" not in done.stdout + done.stderr
    if command[0] == "search":
        assert "The index is not up to date: Another process has been writing" in done.stderr
        assert "memory/later.md" in paths_of(commands.run("search", "lantern", "--json"))


def test_eight_processes_open_a_new_index_at_once(
    commands: Commands, write: Write, tmp_path: Path
) -> None:
    write_notes(write, 12)
    alone = {**commands.environ, "RECOLLECT_HOME": str(tmp_path / "alone")}
    undisturbed = type(commands)(commands.workspace, alone)
    undisturbed.run("index")
    ways = [("index",), ("search", "subject3", "--json"), ("status",), ("doctor", "--verify")] * 2

    children = commands.start_together(ways)
    ended = [(child, *child.communicate(timeout=PATIENCE_SECONDS)) for child in children]

    for way, (child, _, said) in zip(ways, ended, strict=True):
        # Nothing is indexed yet when `verify` looks: that is a difference, and no error.
        assert child.returncode == 0 or way == ("doctor", "--verify"), said
        assert "Traceback" not in said
        assert "locked" not in said
    commands.run("index")
    assert [] == differences(contents(undisturbed.index), contents(commands.index))


def test_connections_that_meet_an_empty_file_at_once_all_write_checksums(tmp_path: Path) -> None:
    together = threading.Barrier(6)

    def fill(path: Path) -> None:
        together.wait()
        connection = connect(path, writable=True)
        connection.execute("CREATE TABLE IF NOT EXISTS pages (content)")
        for _ in range(5):
            connection.execute("INSERT INTO pages VALUES (zeroblob(3000))")
        pages.check(connection, path=path)
        connection.execute("SELECT sum(length(content)) FROM pages").get  # noqa: B018 - it reads
        connection.close()

    with ThreadPoolExecutor(6) as threads:
        for number in range(20):
            path = tmp_path / f"{number}" / "index.sqlite"
            assert [None] * 6 == list(threads.map(fill, [path] * 6))


@pytest.mark.parametrize("damage", ["header", "middle"])
def test_six_processes_find_a_damaged_index_and_one_of_them_replaces_it(
    commands: Commands, write: Write, damage: str
) -> None:
    write_notes(write, 40)
    commands.run("index")
    content = bytearray(commands.index.read_bytes())
    if damage == "header":
        content[:16] = b"not a database!!"
    else:
        content[4096:-4096] = random.Random(7).randbytes(len(content) - 8192)
    commands.index.write_bytes(content)

    children = commands.start_together(
        [("search", f"subject{number}", "--json") for number in range(6)]
    )
    ended = [(child, *child.communicate(timeout=PATIENCE_SECONDS)) for child in children]

    for number, (child, answer, said) in enumerate(ended):
        assert 0 == child.returncode, said
        assert f"memory/{number}.md" == json.loads(answer)["results"][0]["path"]
    kept = [path for path in commands.index.parent.iterdir() if ".damaged-" in path.name]
    assert {f"{commands.index.name}.damaged-1"} == {path.name.removesuffix("-wal") for path in kept}
    assert 0 == commands.run("doctor", "--verify").returncode


@pytest.mark.parametrize(
    "problems",
    [lambda memory: memory.parts.verify_store(), lambda memory: memory.verify().differences],
)
def test_an_index_that_another_process_has_changed_since_is_not_taken_for_damaged(
    workspace: Path,
    commands: Commands,
    write: Write,
    problems: Callable[[Memory], Sequence[object]],
) -> None:
    write_notes(write, 30)
    commands.run("index")
    with Memory.open(workspace, environ=commands.environ) as memory:
        # It has read the segments of the keyword index, which are now merged into others.
        write_notes(write, 120)
        commands.run("index", "--force")

        assert [] == list(problems(memory))


def test_fifty_starts_and_stops_of_a_worker_leave_no_thread_and_no_descriptor(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write_notes(write, 3)
    synced = threading.Event()

    def start_and_stop(memory: Memory) -> None:
        worker = memory.worker(on_sync=lambda _: synced.set(), on_notice=print)
        worker.start()
        assert synced.wait(PATIENCE_SECONDS)
        worker.stop()
        synced.clear()

    with Memory.open(workspace, environ=environ) as memory:
        watched_before = descriptors("anon_inode:")
        start_and_stop(memory)  # SQLite keeps one descriptor for the next connection's use
        files_before = descriptors(str(workspace.parent))
        threads_before = set(threading.enumerate())
        for _ in range(50):
            start_and_stop(memory)

        assert threads_before == set(threading.enumerate())
        assert files_before == descriptors(str(workspace.parent))
        # The system's notices are given back by a thread of their own library, soon after.
        wait_until(lambda: watched_before == descriptors("anon_inode:"))


def descriptors(beginning: str) -> Counter[str]:
    """What this process has open whose name begins so."""
    found: Counter[str] = Counter()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own
            found[str(descriptor.readlink())] += 1
    return Counter({name: count for name, count in found.items() if name.startswith(beginning)})
