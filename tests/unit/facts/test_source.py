"""The ledger as a source: what is read again after which change, and what is not read at all."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.notes import keyword_pool

from recollect.facts.files import FACTS_FOLDER, FolderFiles
from recollect.facts.record import Fact, derive_id
from recollect.facts.source import FactsSource
from recollect.facts.state import end_of
from recollect.ingest.documents import find_staleness, sync_documents
from recollect.ingest.read import UnreadableError
from recollect.stores.ram import RamStore
from recollect.types import Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.reports import Report

    Write = Callable[[str, str], Path]

ONE, TWO = derive_id("one"), derive_id("two")
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
SETTLED_SECONDS = 1_000_000_000


@pytest.fixture
def store() -> RamStore:
    return RamStore()


@pytest.fixture
def ledger(write: Write) -> Write:
    """Write a file of the ledger that has been there for long."""

    def write_file(name: str, text: str) -> Path:
        file = write(f"memory/facts/{name}", text)
        os.utime(file, (SETTLED_SECONDS, SETTLED_SECONDS))
        return file

    return write_file


def source_of(workspace: Path, store: RamStore) -> FactsSource:
    files = FolderFiles(workspace / FACTS_FOLDER, inside=workspace)
    return FactsSource(files, store=store)


def synced(workspace: Path, store: RamStore, *, force: bool = False) -> Report:
    return sync_documents(
        [source_of(workspace, store)],
        store=store,
        force=force,
        progress=silent,
        before_write=lambda: None,
        read_seconds=None,
    )


def texts(store: RamStore, *words: str) -> list[str]:
    """Return the facts that hold and have one of the words."""
    keys = keyword_pool(store, words, scope=Scope(), limit=10).keys
    return [chunk.text for chunk in store.load(keys, terms=[], fingerprint=None).chunks]


def bullet(text: str, fact_id: str, *record: str) -> str:
    return f"- {text} <!-- {' '.join((fact_id, *record))} -->\n"


def test_a_ledger_whose_files_kept_their_stats_is_not_read(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", "- The kettle is blue\n")
    first = synced(workspace, store)
    ledger("other.md", "- The kettle is pink\n")  # of the same size, at the same time

    assert (1, 0, 1) == (first.added, *_counts(synced(workspace, store)))
    assert ["The kettle is blue"] == texts(store, "kettl")
    assert (1, 0) == _counts(synced(workspace, store, force=True))
    assert ["The kettle is pink"] == texts(store, "kettl")


def _counts(report: Report) -> tuple[int, int]:
    return report.changed, report.unchanged


def test_a_file_so_fresh_that_its_stat_proves_nothing_is_read_again(
    workspace: Path, store: RamStore, write: Write
) -> None:
    file = write("memory/facts/other.md", "- The kettle is blue\n")
    before = file.stat()
    synced(workspace, store)
    file.write_text("- The kettle is pink\n", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    synced(workspace, store)

    assert ["The kettle is pink"] == texts(store, "kettl")


def test_no_ledger_at_all_is_fine(workspace: Path, store: RamStore) -> None:
    assert (0, 0) == _counts(synced(workspace, store))


def test_a_file_whose_last_fact_went_is_known_and_not_read_again(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", "# Facts: other\n")
    synced(workspace, store)

    assert {(SourceKind.FACTS, "memory/facts/other.md")} == set(store.known())
    assert (0, 1) == _counts(synced(workspace, store))


def test_what_another_file_supersedes_is_read_again_and_holds_again_when_that_goes(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", bullet("The kettle is blue", ONE))
    synced(workspace, store)
    newer = ledger("place.md", bullet("The kettle is pink", TWO, f"supersedes={ONE}"))

    synced(workspace, store)
    superseded = texts(store, "kettl")
    newer.unlink()
    synced(workspace, store)

    assert ["The kettle is pink"] == superseded
    assert ["The kettle is blue"] == texts(store, "kettl")


def test_a_former_value_that_is_corrected_is_found_by_its_new_name(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", bullet("The kettle is blue", ONE, "value=blue"))
    ledger("place.md", bullet("The kettle is pink", TWO, f"supersedes={ONE}", "value=pink"))
    synced(workspace, store)
    ledger("other.md", bullet("The kettle is teal", ONE, "value=turquoise"))

    synced(workspace, store)

    assert ["The kettle is pink"] == texts(store, "turquois")


def test_a_fact_that_concerns_no_other_leaves_the_other_files_alone(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", bullet("The kettle is blue", ONE))
    ledger("place.md", "- The ladder leans on the fence\n")
    synced(workspace, store)
    ledger("other.md", bullet("The kettle is blue", ONE) + bullet("Tea is in the tin", TWO))

    assert (1, 1) == _counts(synced(workspace, store))


def test_a_bullet_that_is_no_longer_a_repetition_gets_the_id_of_its_words(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", "- The kettle is blue\n- Tea is in the tin\n")
    ledger("place.md", "- The kettle is blue\n")
    synced(workspace, store)
    ledger("other.md", "- Tea is in the tin\n")

    synced(workspace, store)

    [key] = keyword_pool(store, ["kettl"], scope=Scope(), limit=10).keys
    [chunk] = store.load([key], terms=[], fingerprint=None).chunks
    assert chunk.fact is not None
    assert derive_id("The kettle is blue") == chunk.fact.id


def test_what_cannot_be_read_is_told_at_every_look(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", bullet("The kettle is blue", ONE) + "```\nnever closed\n")
    (workspace / "memory" / "facts" / "place.md").symlink_to(workspace / "elsewhere.md")

    told = [[failure.path for failure in synced(workspace, store).failed] for _ in range(3)]

    assert [["memory/facts/other.md:2", "memory/facts/place.md"]] * 3 == told
    assert ["The kettle is blue"] == texts(store, "kettl")


def test_facts_and_digest_of_a_file_saved_meanwhile_belong_together(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", "- The kettle is blue\n")
    source = source_of(workspace, store)
    [found], _ = source.find()
    _ = source.recipe
    ledger("other.md", "- The kettle is pink\n")

    taken = source.take(found)

    assert "- The kettle is pink\n" == taken.document.text
    assert ["The kettle is pink"] == [chunk.text for chunk in taken.chunks()]


def test_a_file_that_is_gone_by_the_time_it_is_read_says_so(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    file = ledger("other.md", "- The kettle is blue\n")
    source = source_of(workspace, store)
    [found], _ = source.find()
    file.unlink()

    with pytest.raises(UnreadableError, match="was deleted"):
        source.take(found)


def test_looking_tells_what_a_sync_would_change(
    workspace: Path, store: RamStore, ledger: Write
) -> None:
    ledger("other.md", "- The kettle is blue\n")
    before = find_staleness([source_of(workspace, store)], store=store)
    synced(workspace, store)

    assert ("memory/facts/other.md",) == before.changed
    assert not find_staleness([source_of(workspace, store)], store=store).is_stale


@pytest.mark.parametrize("expires", [None, BEGUN + timedelta(days=90)])
def test_a_fact_whose_successor_alone_says_so_ends_when_that_begins(
    expires: datetime | None,
) -> None:
    old = Fact(ONE, "The kettle is blue", created=BEGUN, expires=expires)
    new = Fact(TWO, "The kettle is pink", created=BEGUN + timedelta(days=7), supersedes=(ONE,))

    assert new.created == end_of(old, {ONE: old, TWO: new}, successor=TWO)
