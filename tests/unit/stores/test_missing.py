"""Texts without a vector are found without reading vectors, and none is passed over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import drop_document, put_document
from tests.support.statements import counted_steps

from recollect.stores.base import Coverage, SpaceTexts
from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.scan import NumpyScan
from recollect.stores.sqlite.seal import seal_tail
from recollect.types import Chunk, Document, Fingerprint, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACE = Fingerprint("test", "made-up", 8, "plain")
OTHER = replace(SPACE, model="another")
COUNT = 400


def put(store: SqliteStore, path: str, *texts: str, media: str = "") -> None:
    document = Document(path, SourceKind.MEMORY, "", path, Stat(0, 0), None)
    chunks = [
        Chunk(path, SourceKind.MEMORY, line, line, text, media=media)
        for line, text in enumerate(texts, 1)
    ]
    put_document(store, document, chunks, recipe="r")


def embed(store: SqliteStore, *texts: str, space: Fingerprint = SPACE) -> None:
    vectors = np.eye(8, dtype=np.float32)[[sum(map(ord, text)) % 8 for text in texts]]
    store.put_vectors(
        space,
        digests=[Chunk("", SourceKind.MEMORY, 1, 1, text).digest for text in texts],
        vectors=vectors,
    )


def missing_in(store: SqliteStore) -> list[str]:
    return [each.text for each in store.missing(SpaceTexts(SPACE), limit=1000)]


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path, engine=NumpyScan(exact_limit=3))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path: Path = tmp_path_factory.mktemp("missing") / "index.sqlite"
    texts = [f"text {number}" for number in range(COUNT)]
    with opened(path) as store:
        put(store, "many.md", *texts)
        embed(store, *texts)
        store.publish(SPACE)
    return path.read_bytes()


@pytest.fixture
def store(tmp_path: Path, filled: bytes) -> Iterator[SqliteStore]:
    """One whose chunks all have a vector."""
    (tmp_path / "index.sqlite").write_bytes(filled)
    with opened(tmp_path / "index.sqlite") as store:
        yield store


def test_no_vector_and_no_chunk_of_a_segment_is_looked_at(store: SqliteStore) -> None:
    with store._writing() as connection:
        seal_tail(connection, longest=0)
    put(store, "new.md", "fresh")

    with counted_steps(store._connection) as taken:
        assert ["fresh"] == missing_in(store)
        assert Coverage(COUNT + 1, 1) == store.coverage(SpaceTexts(SPACE))
        assert 0 == store.prune(keep=[SPACE])

    assert max(taken) < COUNT / 4


def test_looking_writes_nothing(store: SqliteStore) -> None:
    before = store._connection.total_changes()

    store.coverage(SpaceTexts(SPACE))
    store.prune(keep=[SPACE])

    assert before == store._connection.total_changes()


def test_a_text_that_comes_back_without_its_vector_is_missing(store: SqliteStore) -> None:
    put(store, "new.md", "fresh")
    drop_document(store, "new.md")
    put(store, "again.md", "fresh")  # its text has a number from before

    assert ["fresh"] == missing_in(store)


def test_what_was_left_out_stays_missing_until_it_has_a_vector(store: SqliteStore) -> None:
    put(store, "new.md", "refused", "fresh")
    assert ["refused", "fresh"] == missing_in(store)

    embed(store, "fresh")

    assert ["refused"] == missing_in(store)
    assert 1 == store.coverage(SpaceTexts(SPACE)).pending
    drop_document(store, "new.md")
    assert [] == missing_in(store)
    assert 0 == store.coverage(SpaceTexts(SPACE)).pending


def test_media_files_count_as_before(store: SqliteStore) -> None:
    put(store, "picture.png", "Image file: picture.png", media="00ff")

    assert [] == missing_in(store)
    assert 0 == store.coverage(SpaceTexts(SPACE)).pending
    assert (
        1
        == store.coverage(SpaceTexts(SPACE, media=True)).pending
        == store.status(SpaceTexts(SPACE, media=True)).pending
    )


def test_a_space_that_was_dropped_and_begun_again_is_empty(store: SqliteStore) -> None:
    put(store, "new.md", "fresh")
    embed(store, "fresh", space=OTHER)
    assert COUNT == store.prune(keep=[OTHER])
    embed(store, "fresh", "text 0", "text 1", "text 2", "text 3")

    assert COUNT - 4 == len(missing_in(store)) == store.coverage(SpaceTexts(SPACE)).pending


def test_a_cleared_store_has_no_vectors(store: SqliteStore) -> None:
    store.clear()
    put(store, "many.md", *(f"text {number}" for number in range(9)))

    assert 9 == len(missing_in(store)) == store.coverage(SpaceTexts(SPACE)).pending


def test_lost_vectors_are_noticed(store: SqliteStore) -> None:
    store._connection.execute("DELETE FROM vectors WHERE id % 100 = 7")

    assert [f"the count of the vectors of {SPACE} is wrong"] == store.check()


def test_vectors_that_no_chunk_has_are_still_dropped(store: SqliteStore) -> None:
    assert 0 == store.prune(keep=[SPACE])
    drop_document(store, "many.md")
    put(store, "few.md", "text 1", "text 2")

    assert COUNT - 2 == store.prune(keep=[SPACE])
