"""What a query reads of the codes, and what a new vector writes: by count, not by time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from tests.support.notes import put_document, vector_pool

from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.codes import SEGMENT, recode
from recollect.stores.sqlite.scan import ESTIMATED, NumpyScan
from recollect.types import Chunk, Document, Fingerprint, Scope, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SPACE = Fingerprint("test", "made-up", 64, "plain")
COUNT = 3 * SEGMENT + 200
PAGE_BYTES = 4096


def made_up(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, 64))
    unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit.astype(np.float32)


VECTORS = made_up(COUNT + 500, seed=1)


def digest(number: int) -> str:
    return Chunk("m.md", SourceKind.MEMORY, number, number, f"w{number}").digest


def embed(store: SqliteStore, start: int, end: int) -> None:
    store.put_vectors(
        SPACE, digests=[digest(number) for number in range(start, end)], vectors=VECTORS[start:end]
    )


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path, engine=NumpyScan(exact_limit=100))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path: Path = tmp_path_factory.mktemp("codes") / "index.sqlite"
    with opened(path) as store:
        chunks = [
            Chunk("m.md", SourceKind.MEMORY, number, number, f"w{number}")
            for number in range(len(VECTORS))
        ]
        put_document(
            store,
            Document("m.md", SourceKind.MEMORY, "", "d", Stat(0, 0), None),
            chunks,
            recipe="r",
        )
        embed(store, 0, COUNT)
    return path.read_bytes()


@pytest.fixture
def store(tmp_path: Path, filled: bytes) -> Iterator[SqliteStore]:
    (tmp_path / "index.sqlite").write_bytes(filled)
    with opened(tmp_path / "index.sqlite") as store:
        yield store


def nearest(store: SqliteStore, number: int, limit: int = 24) -> list[int]:
    """Return the numbers of the texts that are found for the vector of one."""
    pool = vector_pool(store, SPACE, vector=VECTORS[number], scope=Scope(), limit=limit)
    loaded = store.load(pool.keys, terms=[], fingerprint=None)
    return [chunk.start_line for chunk in loaded.chunks]


def statements(store: SqliteStore, action: Callable[[], object]) -> list[tuple[str, object]]:
    """Return the statements that an action runs, with their bindings."""
    seen: list[tuple[str, object]] = []

    def note(_: object, sql: str, bindings: object) -> bool:
        seen.append((sql, bindings))
        return True

    store._connection.exec_trace = note
    try:
        action()
    finally:
        store._connection.exec_trace = None
    return seen


def reads_of_codes(store: SqliteStore, number: int) -> list[object]:
    return [
        bindings
        for sql, bindings in statements(store, lambda: nearest(store, number))
        if "FROM codes" in sql
    ]


def pages_read(store: SqliteStore, action: Callable[[], object]) -> int:
    connection = store._connection
    before = connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    action()
    return int(connection.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] - before)


def test_codes_are_read_once_by_a_process(store: SqliteStore) -> None:
    assert [(1, 0)] == reads_of_codes(store, 5)
    assert [] == reads_of_codes(store, 6)


def test_a_cold_query_reads_the_codes_and_few_vectors(store: SqliteStore) -> None:
    codes = COUNT * (8 + 8) / PAGE_BYTES
    vectors = COUNT * 64 * 4 / PAGE_BYTES

    cold = pages_read(store, lambda: nearest(store, 5))

    assert codes < cold < codes + vectors + COUNT / 50
    assert 0 == pages_read(store, lambda: nearest(store, 5))


def test_only_what_was_appended_is_read_again(store: SqliteStore) -> None:
    nearest(store, 5)
    with opened(store._path) as other:
        embed(other, COUNT, COUNT + 3)

    assert [(1, 3)] == reads_of_codes(store, COUNT + 1)
    assert COUNT + 1 == nearest(store, COUNT + 1)[0]


def test_a_query_compares_some_of_the_estimated_vectors(store: SqliteStore) -> None:
    asked = [
        str(bindings[1]).count(",") + 1
        for sql, bindings in statements(store, lambda: nearest(store, 5))
        if "JOIN vectors" in sql and "json_each(?2)" in sql and isinstance(bindings, tuple)
    ]

    assert 250 <= sum(asked) < ESTIMATED / 2


@pytest.mark.parametrize("count", [1, 100, 500])
def test_new_vectors_rewrite_one_row_of_codes_and_add_what_they_need(
    store: SqliteStore, count: int
) -> None:
    [(_, rows)] = [
        (sql, bindings)
        for sql, bindings in statements(store, lambda: embed(store, COUNT, COUNT + count))
        if "INTO codes" in sql
    ]

    assert 3 == rows[1]  # type: ignore[index]
    sizes = store._connection.execute("SELECT length(ids) / 8 FROM codes ORDER BY segment")
    assert [SEGMENT, SEGMENT, SEGMENT, 200 + count] == [size for (size,) in sizes]


def test_codes_made_anew_are_read_anew(store: SqliteStore) -> None:
    before = nearest(store, 5)
    with opened(store._path) as other, other._writing() as connection:
        recode(connection, space=1)

    assert [(1, 0)] == reads_of_codes(store, 5)
    assert before == nearest(store, 5)


def test_a_snapshot_does_not_see_codes_that_another_thread_has_read_since(
    store: SqliteStore,
) -> None:
    with store.snapshot():
        before = nearest(store, COUNT + 1)
        shared, _ = store.share()
        with shared:
            embed(shared, COUNT, COUNT + 3)
            assert COUNT + 1 == nearest(shared, COUNT + 1)[0]
        assert before == nearest(store, COUNT + 1)
    assert COUNT + 1 == nearest(store, COUNT + 1)[0]


def test_threads_share_what_was_read(store: SqliteStore) -> None:
    found: list[list[int]] = []

    def ask() -> None:
        shared, _ = store.share()
        with shared:
            found.append(nearest(shared, 7))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [nearest(store, 7)] * 4 == found
    assert [] == reads_of_codes(store, 8)


def test_a_dimension_that_fills_no_word_is_coded_too(tmp_path: Path) -> None:
    space = Fingerprint("test", "odd", 37, "plain")
    vectors = np.random.default_rng(3).standard_normal((400, 37))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    with opened(tmp_path / "index.sqlite") as store:
        chunks = [
            Chunk("m.md", SourceKind.MEMORY, number, number, f"w{number}") for number in range(400)
        ]
        put_document(
            store,
            Document("m.md", SourceKind.MEMORY, "", "d", Stat(0, 0), None),
            chunks,
            recipe="r",
        )
        store.put_vectors(space, digests=[chunk.digest for chunk in chunks], vectors=vectors)

        pool = vector_pool(store, space, vector=vectors[9], scope=Scope(), limit=5)
        exact = np.sort(vectors @ vectors[9])[::-1][:5]

        assert exact == pytest.approx(list(pool.cosines), abs=1e-5)
        assert [] == [each for each in store.check(deep=True) if "code" in each]


def test_a_filter_reads_no_rows_of_chunks_or_documents_after_the_first_query(
    store: SqliteStore,
) -> None:
    scope = Scope(source=SourceKind.MEMORY, path="*.md")

    def ask() -> None:
        pool = vector_pool(store, SPACE, vector=VECTORS[5], scope=scope, limit=24)
        assert 24 == len(pool.keys)

    ask()
    tables = " ".join(sql for sql, _ in statements(store, ask))

    assert "documents" not in tables
    assert "c.text " not in tables
