"""How much a command and a search do, what a search leaves, and what it says of it."""

from __future__ import annotations

import itertools
import os
import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import apsw
import pytest
from tests.support.notes import put_document

from recollect import Memory
from recollect.ingest import lease, sync
from recollect.ingest.lease import WRITER, WriterLease, give_back, take
from recollect.ingest.source import Source, Taken
from recollect.ingest.sync import (
    CHEAP,
    FIRST,
    Freshness,
    Syncer,
    SyncOptions,
)
from recollect.reports import Failure, Report
from recollect.stores.base import Holder
from recollect.stores.sqlite import SqliteStore
from recollect.types import Degradation, Document, SourceKind, Stat, Step, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.ingest.fill import Embedder as RealEmbedder
    from recollect.ingest.folders import Found
    from recollect.ingest.spaces import Budget
    from recollect.stores.base import Store
    from recollect.types import Progress

    Eventually = Callable[[Callable[[], object]], None]

HOLDER = Holder("theirs", "recollect index", 4711, "here", 0.0, 0.0)


class Embedder:
    """Stands in for the work, and records how much of it was asked for and allowed."""

    def __init__(self, work: Callable[[SyncOptions], None] | None = None) -> None:
        self.asked: list[SyncOptions] = []
        self.granted: list[bool] = []
        self._work = work

    def embed_pending(
        self,
        report: Report,
        budget: Budget,
        *,
        may_embed: Callable[[], bool],
        progress: Progress,
    ) -> Report:
        options = SyncOptions(budget=budget, may_embed=may_embed, progress=progress)
        self.asked.append(options)
        if self._work is not None:
            self._work(options)
        else:
            self.granted.append(may_embed())
        return replace(report, chunks=7)


def fill(store: Store) -> None:
    document = Document("memory/a.md", SourceKind.FACTS, "a", "d", Stat(1, 1), when=None)
    put_document(store, document, [], recipe="r")


@pytest.fixture
def filled(store: Store) -> Store:
    fill(store)
    return store


class NoFiles(Source):
    """A source that finds what the store already has."""

    kind = SourceKind.FACTS
    recipe = "r"

    def find(self) -> tuple[list[Found], list[Failure]]:
        return [], [Failure("memory", "may be incomplete", "")]

    def take(self, found: Found) -> Taken:
        raise NotImplementedError


def syncer_of(store: Store, embedder: object) -> Syncer:
    return Syncer(
        store, sources=[NoFiles()], embedder=cast("RealEmbedder", embedder), purpose="a test"
    )


def freshness(store: Store, embedder: object) -> Freshness:
    syncer = syncer_of(store, embedder)
    syncer.freshen(silent)
    return syncer.freshness


def held_by_another(store: Store) -> None:
    now = time.time()
    other = Holder("theirs", "another", os.getppid(), socket.gethostname(), now, now)
    assert take(store, other, is_gone=lambda _: True) is None


def test_a_search_of_an_index_that_has_something_does_what_is_cheap(filled: Store) -> None:
    work = Embedder()

    fresh = freshness(filled, work)

    assert fresh.holder is None
    assert [CHEAP] == [asked.budget for asked in work.asked]


def test_the_first_search_does_everything(store: Store) -> None:
    work = Embedder()

    freshness(store, work)

    assert [FIRST] == [asked.budget for asked in work.asked]


@pytest.mark.parametrize("is_new", [True, False])
def test_while_another_is_at_it_a_search_embeds_nothing(store: Store, *, is_new: bool) -> None:
    if not is_new:
        fill(store)
    held_by_another(store)
    work = Embedder()

    fresh = freshness(store, work)

    assert "another" == getattr(fresh.holder, "purpose", None)
    assert [False] == work.granted
    assert [CHEAP] == [asked.budget for asked in work.asked]


def test_a_search_holds_the_lease_while_it_changes_something_and_not_before(
    filled: Store,
) -> None:
    holders: list[Holder | None] = []

    def work(options: SyncOptions) -> None:
        holders.append(filled.lease(WRITER, lambda held: held))
        assert options.may_embed()
        assert options.may_embed()
        holders.append(filled.lease(WRITER, lambda held: held))

    fresh = freshness(filled, Embedder(work))

    assert fresh.holder is None
    assert [None, "a search"] == [holder and holder.purpose for holder in holders]


def test_a_search_with_nothing_to_change_does_not_ask_who_is_at_work(filled: Store) -> None:
    held_by_another(filled)

    fresh = freshness(filled, Embedder(lambda _options: None))

    assert fresh.holder is None


def test_a_search_gives_the_lease_back_when_its_work_fails(filled: Store) -> None:
    def fail(options: SyncOptions) -> None:
        assert options.may_embed()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        freshness(filled, Embedder(fail))

    own = WriterLease(filled, purpose="a test")
    assert own.acquire() is None
    own.release()


def test_a_run_that_lost_its_lease_waits_for_the_other_and_does_the_rest(
    filled: Store, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_BEAT_SECONDS", 0.01)
    steps = itertools.count()
    waited: list[str] = []

    def work(options: SyncOptions) -> None:
        if next(steps) == 0:
            held_by_another(filled)
            # Goes on for as long as nobody objects.
            eventually(lambda: options.progress(Step("read", 1, 2)))

    def wait(sentence: str) -> None:
        waited.append(sentence)
        give_back(filled, token="theirs")  # noqa: S106 - a name, not a secret

    report = syncer_of(filled, Embedder(work)).sync(SyncOptions(), on_wait=wait)

    assert 7 == report.chunks
    assert 2 == next(steps)
    assert [f"Waiting for another (process {os.getppid()}, for 0 s) to finish …"] == waited


def test_what_is_left_is_counted_and_someone_at_work_is_named() -> None:
    fresh = Freshness(Report(left=3, pending=5), HOLDER)

    said = list(fresh.notices())

    assert "3 new or changed files are not read yet." == said[0]
    assert "5 chunks are not embedded yet; keywords find them." == said[1]
    assert said[2].startswith("recollect index (process 4711, for ")
    assert said[2].endswith(" is working on it.")
    assert not fresh.is_behind


def test_work_is_behind_only_when_nobody_does_it_and_someone_could() -> None:
    degraded = {"vector": Degradation("no server", "start it")}

    assert Freshness(Report(left=1), None).is_behind
    assert Freshness(Report(pending=1), None).is_behind
    assert not Freshness(Report(pending=1), HOLDER).is_behind
    assert not Freshness(Report(pending=1, degraded=degraded), None).is_behind
    assert not Freshness(Report(), None).is_behind


def test_a_file_that_cannot_be_read_is_said_with_what_to_do() -> None:
    failed = (Failure("memory/a.md", "cannot be read: Permission denied", "Make it readable."),)

    [said] = Freshness(Report(failed=failed), None).notices()

    assert (
        "memory/a.md is not indexed: it cannot be read: Permission denied. Make it readable."
    ) == said


def test_an_entry_that_cannot_be_read_is_not_said_to_be_out_of_date() -> None:
    failed = (Failure("memory/facts/a.md:3", "has no text", "Correct it.", is_entry=True),)

    [said] = Freshness(Report(failed=failed), None).notices()

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
def test_a_complete_space_is_published_once_no_other_process_is_at_work(
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
            held_by_another(SqliteStore.open(index))

        memory.search("lantern")

        assert is_held == (memory.status().legs.vector.served_from is None)


def test_out_of_time_the_files_saved_last_are_read_and_the_rest_is_counted(
    workspace: Path, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"RECOLLECT_HOME": str(workspace.parent / "home"), "RECOLLECT_PROVIDER": "none"}
    os.utime(write("memory/known.md", "Known before.\n"), (1, 1))
    with Memory.open(workspace, environ=environ) as memory:
        memory.sync()
        for number in range(5):
            os.utime(write(f"memory/{number}.md", f"Word{number}.\n"), (number + 1, number + 1))
        # Each look at the clock takes a second, and a file is two: two are read in four and a half.
        seconds = itertools.count(1000.0)
        monkeypatch.setattr(sync, "CHEAP", replace(sync.CHEAP, read_seconds=4.5))
        monkeypatch.setattr(time, "monotonic", lambda: next(seconds))

        results = memory.search("word")
        monkeypatch.undo()

        assert ("3 new or changed files are not read yet.",) == results.notices
        assert {"memory/known.md", "memory/3.md", "memory/4.md"} == memory.paths()
        assert memory.is_behind
