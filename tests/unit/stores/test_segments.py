"""What the keyword index reads and writes, counted: it must not grow with what is stored."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.support.notes import drop_document, keyword_pool

from recollect.errors import StoreError
from recollect.stores.base import DocumentWrite
from recollect.stores.sqlite import SqliteStore, documents, seal, segments
from recollect.stores.sqlite.filters import Filter
from recollect.types import Chunk, Document, Scope, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from pathlib import Path

CHUNKS = 4  # of a document
_REST = " and so on" * 80  # chunks are as long as those of real notes
_AT_ONCE = 130  # documents of a transaction
ASKED = ["common", "even", "n7"]


def write_of(number: int, *, version: int = 0) -> DocumentWrite:
    """Make a document of short chunks: one word is in all, one in every second, one in one."""
    path = f"memory/{number % 7}/{number}.md"
    texts = [
        f"common n{number} {'even' if line % 2 else 'odd'} line {line} v{version}{_REST}"
        for line in range(CHUNKS)
    ]
    when = date(2020 + number % 5, 1, 1)
    return DocumentWrite(
        Document(path, SourceKind.MEMORY, "", digest_of(path.encode()), Stat(1, version), when),
        [
            Chunk(path, SourceKind.MEMORY, line, line, text, when=when)
            for line, text in enumerate(texts)
        ],
        "r",
    )


def filled(path: Path, count: int) -> SqliteStore:
    store = SqliteStore.open(path)
    for start in range(0, count, _AT_ONCE):
        store.put_many([write_of(number) for number in range(start, min(start + _AT_ONCE, count))])
    return store


def changes_of(store: SqliteStore, write: DocumentWrite) -> int:
    before = store._connection.total_changes()
    store.put_many([write])
    return store._connection.total_changes() - before


def statements_of(store: SqliteStore, scope: Scope) -> int:
    seen: list[object] = []
    store._connection.trace_v2(apsw.SQLITE_TRACE_STMT, seen.append)
    keyword_pool(store, ASKED, scope=scope, limit=10)
    store._connection.trace_v2(0, None)
    return len(seen)


def pages_of(path: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many pages one question reads if nothing of the file is kept."""
    monkeypatch.setattr(segments, "_recent", segments.Recent(1 << 20))
    with SqliteStore.open(path) as store:
        connection = store._connection
        before = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
        keyword_pool(store, ASKED, scope=scope, limit=10)
        return connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] - before


def test_an_update_writes_as_many_rows_in_a_large_index_as_in_a_small_one(tmp_path: Path) -> None:
    with filled(tmp_path / "small.sqlite", 150) as store:
        small = changes_of(store, write_of(3, version=1))
    with filled(tmp_path / "large.sqlite", 700) as store:
        large = changes_of(store, write_of(3, version=1))

    assert small == large
    # The document, its chunks, texts, totals and words for SQL, both ways, and removed places.
    assert large <= 2 + 14 * CHUNKS + 2


def test_a_question_takes_a_statement_for_each_term_and_segment_and_none_the_second_time(
    tmp_path: Path,
) -> None:
    with filled(tmp_path / "index.sqlite", 700) as store:
        pieces = store._connection.execute("SELECT count(*) FROM segments").get
        assert pieces > 1
        first = statements_of(store, Scope())
        again = statements_of(store, Scope())
        filtered = statements_of(store, Scope(path="memory/3/**", since=date(2021, 1, 1)))
        refiltered = statements_of(store, Scope(path="memory/3/**", since=date(2021, 1, 1)))

        later = [
            statements_of(
                store, Scope(path="memory/4/**", as_of=datetime(2026, 1, day, tzinfo=UTC))
            )
            for day in (1, 2, 3)
        ]

    assert again == refiltered == 6  # begin, segments, totals, hidden facts twice, rollback
    assert [6, 6] == later[1:]  # what holds at a moment counts, not the moment
    assert first <= again + pieces * (len(ASKED) + 2) + 2  # columns, tail
    assert filtered <= again + pieces * 3 + 2


def test_a_new_process_reads_a_small_part_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.sqlite"
    with filled(path, 700) as store:
        with store._writing() as connection:
            seal.seal_tail(connection, longest=0)  # the tail is read whole
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = store._connection.pragma("page_count")

    assert pages_of(path, Scope(), monkeypatch) < 0.1 * pages
    assert (
        pages_of(path, Scope(path="memory/3/**", since=date(2021, 1, 1)), monkeypatch) < 0.2 * pages
    )


def test_a_transaction_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "SIZES", seal.Sizes(tail=0, tiers=(8, 16, 32)))

    def fail(_connection: object) -> None:
        raise apsw.FullError("no space")

    with filled(tmp_path / "index.sqlite", 3) as store:
        drop_document(store, "memory/0/0.md")
        with monkeypatch.context() as patched:
            patched.setattr(documents, "seal_tail", fail)
            with pytest.raises(StoreError):
                store.put_many([write_of(1, version=1)])
        drop_document(store, "memory/2/2.md")
        found = keyword_pool(store, ["n1", "n2"], scope=Scope(), limit=10)
        chunks = store.load(found.keys, terms=[], fingerprint=None).chunks

        assert {"memory/1/1.md"} == {chunk.path for chunk in chunks}
        assert [] == store.check(deep=True)


def test_texts_are_allowed_if_one_of_their_chunks_is(tmp_path: Path) -> None:
    with filled(tmp_path / "index.sqlite", 200) as store, store.snapshot():
        connection = store._connection
        scope = Scope(path="memory/3/**", before=date(2022, 1, 1))
        rows = connection.execute(
            "SELECT c.text_id FROM chunks c JOIN documents d ON d.id = c.document "
            "WHERE d.path GLOB 'memory/3/*' AND c.day < '2022-01-01'"
        )
        allowed = Filter(connection, scope).texts()

        assert allowed is not None
        assert sorted({text for (text,) in rows}) == allowed.nonzero()[0].tolist()
        assert Filter(connection, Scope()).texts() is None


def test_what_is_kept_of_a_file_is_not_taken_for_its_copy(tmp_path: Path) -> None:
    filled(tmp_path / "a.sqlite", 200).close()
    (tmp_path / "b.sqlite").write_bytes((tmp_path / "a.sqlite").read_bytes())

    def found_without(name: str, gone: int) -> list[int]:
        with SqliteStore.open(tmp_path / name) as store:
            drop_document(store, write_of(gone).document.path)
            return [
                len(keyword_pool(store, [f"n{number}"], scope=Scope(), limit=9).keys)
                for number in (1, 2)
            ]

    assert [0, CHUNKS] == found_without("a.sqlite", 1)
    assert [CHUNKS, 0] == found_without("b.sqlite", 2)


def test_what_a_process_keeps_is_bounded_however_small_each_part_is() -> None:
    recent = segments.Recent(100_000)

    for number in range(10_000):
        recent.get(number, lambda: (None, 0))

    assert len(recent._kept) <= 200


def test_none_are_found_if_none_are_asked_for(tmp_path: Path) -> None:
    with filled(tmp_path / "index.sqlite", 200) as store:
        assert () == keyword_pool(store, ASKED, scope=Scope(), limit=0).keys
