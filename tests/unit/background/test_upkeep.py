"""How much a command and a search do, what a search leaves, and what it says of it."""

from __future__ import annotations

import itertools
import os
import socket
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from recollect import Memory
from recollect.ingest import lease, upkeep
from recollect.ingest.lease import WRITER, WriterLease
from recollect.ingest.refresh import RefreshOptions
from recollect.ingest.upkeep import CHEAP_SECONDS, CHEAP_TEXTS, Fresh, Upkeep
from recollect.reports import Failure, Report
from recollect.stores.base import Holder
from recollect.stores.sqlite import SqliteStore
from recollect.types import Degradation, Document, SourceKind, Stat, Step, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.stores.base import SharedStore, Store

    Eventually = Callable[[Callable[[], object]], None]

HOLDER = Holder("theirs", "recollect index", 4711, "here", 0.0, 0.0)


class Refreshed:
    """Stands in for the work, and remembers how much of it was asked for and allowed."""

    def __init__(self, *, changes: bool = True) -> None:
        self.asked: list[RefreshOptions] = []
        self.granted: list[bool] = []
        self._changes = changes

    def __call__(self, options: RefreshOptions) -> Report:
        self.asked.append(options)
        if self._changes:
            self.granted.append(options.is_granted())
        return Report()


def held_by_another(store: SharedStore) -> None:
    now = time.time()
    other = Holder("theirs", "another", os.getppid(), socket.gethostname(), now, now)
    leases = store.leases()
    assert leases.take(WRITER, other, is_gone=lambda _: True) is None
    leases.close()


def filled(store: Store) -> Store:
    """Return a store that is not new: it has a document."""
    document = Document("a.md", SourceKind.MEMORY, "a", "d", Stat(1, 1), when=None)
    store.put(document, [], recipe="r")
    return store


def test_a_search_of_an_index_that_has_something_does_what_is_cheap(store: Store) -> None:
    work = Refreshed()

    fresh = Upkeep(filled(store), refresh=work).freshen(progress=silent)

    assert fresh.holder is None
    assert [(CHEAP_TEXTS, CHEAP_SECONDS, False)] == [
        (asked.most, asked.seconds, asked.retry) for asked in work.asked
    ]


def test_the_first_search_does_everything(store: Store) -> None:
    work = Refreshed()

    Upkeep(store, refresh=work).freshen(progress=silent)

    assert [(None, None)] == [(asked.most, asked.seconds) for asked in work.asked]


@pytest.mark.parametrize("is_new", [True, False])
def test_while_another_is_at_it_a_search_reads_files_and_embeds_nothing(
    store: Store, *, is_new: bool
) -> None:
    held_by_another(store)
    work = Refreshed()

    fresh = Upkeep(store if is_new else filled(store), refresh=work).freshen(progress=silent)

    assert "another" == getattr(fresh.holder, "purpose", None)
    assert [False] == work.granted
    assert [CHEAP_SECONDS] == [asked.seconds for asked in work.asked]


def test_a_search_holds_the_lease_while_it_changes_something_and_not_before(store: Store) -> None:
    holders: list[Holder | None] = []

    def work(options: RefreshOptions) -> Report:
        leases = store.leases()
        holders.append(leases.holder(WRITER))
        assert options.is_granted()
        assert options.is_granted()
        holders.append(leases.holder(WRITER))
        leases.close()
        return Report()

    fresh = Upkeep(filled(store), refresh=work).freshen(progress=silent)

    assert fresh.holder is None
    assert [None, "a search"] == [holder and holder.purpose for holder in holders]


def test_a_search_with_nothing_to_change_does_not_ask_who_is_at_work(store: Store) -> None:
    held_by_another(store)

    fresh = Upkeep(filled(store), refresh=Refreshed(changes=False)).freshen(progress=silent)

    assert fresh.holder is None


def test_a_search_gives_the_lease_back_when_its_work_fails(store: Store) -> None:
    def fail(options: RefreshOptions) -> Report:
        assert options.is_granted()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Upkeep(filled(store), refresh=fail).freshen(progress=silent)

    own = WriterLease(store, purpose="a test")
    assert own.acquire(wait_seconds=0.0) is None
    own.release()


def test_a_run_that_lost_its_lease_waits_for_the_other_and_does_the_rest(
    store: Store, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    steps = itertools.count()
    told: list[str] = []

    def work(options: RefreshOptions) -> Report:
        if next(steps) == 0:
            held_by_another(store)
            # Goes on for as long as nobody objects.
            eventually(lambda: options.progress(Step("read", 1, 2)))
        return Report(added=7)

    def tell(sentence: str) -> None:
        told.append(sentence)
        leases = store.leases()
        leases.give_back(WRITER, token="theirs")  # noqa: S106 - a name, not a secret
        leases.close()

    report = Upkeep(filled(store), refresh=work).run(RefreshOptions(), purpose="a test", told=tell)

    assert 7 == report.added
    assert 2 == next(steps)
    assert [f"Waiting for another (process {os.getppid()}, for 0 s) to finish …"] == told


def test_what_is_left_is_counted_and_someone_at_work_is_named() -> None:
    fresh = Fresh(Report(left=3, pending=5), HOLDER)

    said = list(fresh.notices())

    assert "3 new or changed files are not read yet." == said[0]
    assert "5 chunks are not embedded yet; keywords find them." == said[1]
    assert said[2].startswith("recollect index (process 4711, for ")
    assert said[2].endswith(" is at work on it.")
    assert not fresh.is_behind


def test_work_is_behind_only_when_nobody_does_it_and_someone_could() -> None:
    degraded = {"vector": Degradation("no server", "start it")}

    assert Fresh(Report(left=1), None).is_behind
    assert Fresh(Report(pending=1), None).is_behind
    assert not Fresh(Report(pending=1), HOLDER).is_behind
    assert not Fresh(Report(pending=1, degraded=degraded), None).is_behind
    assert not Fresh(Report(), None).is_behind


def test_a_file_that_cannot_be_read_is_said_with_what_to_do() -> None:
    failed = (Failure("memory/a.md", "cannot be read: Permission denied", "Make it readable."),)

    [said] = Fresh(Report(failed=failed), None).notices()

    assert (
        "memory/a.md is not up to date: cannot be read: Permission denied. Make it readable."
    ) == said


def test_an_entry_that_cannot_be_read_is_not_said_to_be_out_of_date() -> None:
    failed = (Failure("memory/facts/a.md:3", "has no text", "Correct it.", is_entry=True),)

    [said] = Fresh(Report(failed=failed), None).notices()

    assert "memory/facts/a.md:3 has no text. Correct it." == said


def version(index: Path) -> Callable[[], object]:
    """Return what tells another number after every change that someone else commits."""
    connection = apsw.Connection(str(index))
    return lambda: connection.pragma("data_version")


def indexed(workspace: Path, write: Callable[[str, str], Path], memory: Memory) -> Path:
    """Index a note that was written long ago, and return the index file."""
    os.utime(write("memory/known.md", "A lantern was lit.\n"), (1, 1))
    memory.sync()
    return next((workspace.parent / "home" / "memory").glob("*.sqlite"))


def test_a_search_of_an_index_that_is_up_to_date_writes_nothing(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    with Memory.open(workspace, environ=environ) as memory:
        version_now = version(indexed(workspace, write, memory))
        before = version_now()
        found = memory.search("lantern").hits
        after = version_now()
        write("memory/later.md", "Another lantern.\n")
        more = memory.search("lantern").hits

        assert before == after
        assert after != version_now()
        assert (1, 2) == (len(found), len(more))


@pytest.mark.parametrize("is_held", [False, True])
def test_a_space_that_is_complete_and_not_published_is_so_once_nobody_else_is_at_work(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    *,
    is_held: bool,
) -> None:
    with Memory.open(workspace, environ=environ) as memory:
        index = indexed(workspace, write, memory)
        apsw.Connection(str(index)).execute("UPDATE spaces SET is_published = 0")
        if is_held:
            with SqliteStore.open(index) as store:
                held_by_another(store)

        memory.search("lantern")

        assert is_held == (memory.status().published is None)


def test_out_of_time_the_files_saved_last_are_read_and_the_rest_is_counted(
    workspace: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"RECOLLECT_HOME": str(workspace.parent / "home"), "RECOLLECT_PROVIDER": "none"}
    os.utime(write("memory/known.md", "Known before.\n"), (1, 1))
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        for number in range(5):
            os.utime(write(f"memory/{number}.md", f"Word{number}.\n"), (number + 1, number + 1))
        # Each look at the clock takes a second: two files are read in two and a half.
        seconds = itertools.count(1000.0)
        monkeypatch.setattr(upkeep, "CHEAP_SECONDS", 2.5)
        monkeypatch.setattr(time, "monotonic", lambda: next(seconds))

        results = memory.search("word")
        monkeypatch.undo()

        assert ("3 new or changed files are not read yet.",) == results.notices
        assert {"memory/known.md", "memory/3.md", "memory/4.md"} == memory.paths()
        assert memory.is_behind
