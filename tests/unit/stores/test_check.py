"""Parts of an index that disagree are found when all of it is read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from zlib import crc32

import apsw
import numpy as np
import pytest
from tests.support.notes import put_document

from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.scan import NumpyScan
from recollect.stores.sqlite.seal import seal_tail
from recollect.types import Chunk, Document, Fingerprint, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACE = Fingerprint("test", "model", 8, "plain")
WORDS = ("ant", "elk", "fox", "owl", "ram", "yak")  # their own stems


def vector_of(text: str) -> np.ndarray:
    vector = np.random.default_rng(len(text) * 1000 + ord(text[0])).standard_normal(8)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def put(store: SqliteStore, word: str) -> Chunk:
    path = f"memory/{word}.md"
    stat = Stat(len(word), 7)
    document = Document(path, SourceKind.MEMORY, word, digest_of(word.encode()), stat, None)
    chunk = Chunk(path, SourceKind.MEMORY, 1, 1, word)
    put_document(store, document, [chunk], recipe="r")
    return chunk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of six words with terms, vectors and codes."""
    file = tmp_path / "index.sqlite"
    with SqliteStore.open(file, engine=NumpyScan(exact_limit=2)) as store:
        digests = [put(store, word).digest for word in WORDS]
        vectors = np.stack([vector_of(word) for word in WORDS])
        store.put_vectors(SPACE, digests=digests, vectors=vectors)
        with store._writing() as connection:
            seal_tail(connection, longest=0)
    return file


@pytest.fixture
def damage(path: Path) -> Iterator[apsw.Connection]:
    """A connection that ignores the rules of the store."""
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


def audited(path: Path) -> list[str]:
    """Audit a file without repairing it."""
    with SqliteStore.open(path) as store:
        return store.check(deep=True)


LOST_TERMS = "the keyword index does not have all terms of the chunks"


def test_a_sound_index_has_no_disagreement(path: Path) -> None:
    assert [] == audited(path)


@pytest.mark.parametrize(
    "sql", ["DELETE FROM postings", "UPDATE postings SET terms = zeroblob(length(terms))"]
)
def test_lost_terms_are_found_by_a_check(path: Path, damage: apsw.Connection, sql: str) -> None:
    damage.execute(sql)

    with SqliteStore.open(path) as store:
        assert [LOST_TERMS] == store.check()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE codes SET codes = zeroblob(length(codes))",
        "UPDATE codes SET codes = substr(codes, 2)",
        "UPDATE spaces SET centre = substr(centre, 5)",
        "UPDATE vectors SET vector = (SELECT max(w.vector) FROM vectors w)",
    ],
)
def test_codes_of_other_vectors_are_found_by_the_audit(
    path: Path, damage: apsw.Connection, sql: str
) -> None:
    damage.execute(sql)

    assert [f"codes of {SPACE} do not match its vectors"] == audited(path)


@pytest.mark.parametrize("change", ["id + 100", "id + (1 << 40)"])
def test_vectors_of_no_text_or_no_space_are_found_by_the_audit(
    path: Path, damage: apsw.Connection, change: str
) -> None:
    damage.execute(f"UPDATE vectors SET id = {change} WHERE id = (1 << 40) + 3")  # noqa: S608

    assert "some vectors have no text or no space" in audited(path)


def test_a_vector_cut_short_is_found_by_the_audit(path: Path, damage: apsw.Connection) -> None:
    damage.execute("UPDATE vectors SET vector = substr(vector, 1, 12) WHERE id = (1 << 40) + 2")

    assert f"vectors of {SPACE} have the wrong length" in audited(path)


def test_vectors_that_were_not_counted_are_found_by_the_audit(
    path: Path, damage: apsw.Connection
) -> None:
    damage.execute("UPDATE spaces SET vectors = 5")

    wrong = f"the count of the vectors of {SPACE} is wrong"
    assert [wrong, f"the codes of {SPACE} do not cover all vectors"] == audited(path)


def test_terms_of_another_text_are_found_by_the_audit(path: Path, damage: apsw.Connection) -> None:
    terms, sizes, frequencies = (
        np.frombuffer(column, dtype=kind).copy()
        for column, kind in zip(
            damage.execute("SELECT terms, sizes, frequencies FROM postings").get,
            ("<u4", "<u4", "u1"),
            strict=True,
        )
    )
    [place] = np.flatnonzero(terms == crc32(b"elk"))
    frequencies[sizes[:place].sum()] += 1
    damage.execute("UPDATE postings SET frequencies = ?", (frequencies.tobytes(),))

    assert [LOST_TERMS] == audited(path)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE columns SET data = zeroblob(length(data)) WHERE name = 'texts'",
        "UPDATE columns SET data = randomblob(length(data)) WHERE name = 'days'",
        "UPDATE columns SET data = zeroblob(length(data)) WHERE name = 'documents'",
        "UPDATE columns SET data = CAST('a' || substr(data, 2) AS BLOB) WHERE name = 'sources'",
    ],
)
def test_columns_of_other_chunks_are_found_by_the_audit(
    path: Path, damage: apsw.Connection, sql: str
) -> None:
    damage.execute(sql)

    assert [LOST_TERMS] == audited(path)


def test_a_chunk_whose_text_was_changed_by_hand_is_found_by_the_audit(
    path: Path, damage: apsw.Connection
) -> None:
    damage.execute("UPDATE chunks SET text = 'another word' WHERE id = 1")

    assert [
        "the term counts of the chunk at memory/ant.md:1 do not match its text",
        "the digest of the chunk at memory/ant.md:1 does not match its text",
    ] == audited(path)


def test_chunks_without_a_document_are_found_by_the_audit(
    path: Path, damage: apsw.Connection
) -> None:
    damage.pragma("foreign_keys", False)
    damage.execute("DELETE FROM documents WHERE path = 'memory/yak.md'")

    assert "some chunks have no document" in audited(path)


def test_what_others_write_meanwhile_is_no_disagreement(path: Path) -> None:
    stopped = threading.Event()

    def write() -> None:
        with SqliteStore.open(path) as own:
            while not stopped.is_set():
                put(own, "elk")

    writer = threading.Thread(target=write)
    with SqliteStore.open(path) as store:
        writer.start()
        said = [store.check(deep=True) for _ in range(40)]
        stopped.set()
        writer.join()

    assert [[]] * 40 == said
