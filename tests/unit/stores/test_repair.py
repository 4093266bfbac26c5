"""Parts of an index that disagree: repaired when it is opened, or found by the audit."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from zlib import crc32

import apsw
import numpy as np
import pytest
from tests.support.notes import keyword_pool, put_document, vector_pool

from recollect.errors import TermsCorruptError
from recollect.stores.sqlite import SqliteStore, open_file
from recollect.stores.sqlite.scan import NumpyScan
from recollect.stores.sqlite.seal import seal_tail
from recollect.types import Chunk, Document, Fingerprint, Scope, SourceKind, Stat, digest_of

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


def found_by_words(store: SqliteStore) -> list[int]:
    """Count the chunks that the keyword index finds for each word."""
    return [len(keyword_pool(store, [word], scope=Scope(), limit=10).keys) for word in WORDS]


def audited(path: Path) -> list[str]:
    """Audit a file without repairing it."""
    with SqliteStore.open(path) as store:
        return store.audit()


def repaired(path: Path) -> tuple[str, ...]:
    """Open the file as the product does, check that all parts agree, and return the notices."""
    store, notices = open_file(path, engine="numpy")
    with store:
        assert [1] * len(WORDS) == found_by_words(store)
        nearest = vector_pool(store, SPACE, vector=vector_of("yak"), scope=Scope(), limit=1)
        assert 1.0 == pytest.approx(nearest.cosines[0])
        assert [] == store.audit()
    return notices


def test_an_index_whose_parts_agree_is_left_alone(path: Path) -> None:
    assert [] == audited(path)
    assert () == repaired(path)


REBUILT = ("The keyword index was damaged. It was rebuilt from its 6 chunks.",)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM postings",
        "DELETE FROM columns",
        "UPDATE segments SET last = last - 1",
        "UPDATE columns SET data = x'00' WHERE name = 'ids'",
    ],
)
def test_a_keyword_index_that_lost_chunks_or_terms_is_rebuilt(
    path: Path, damage: apsw.Connection, sql: str
) -> None:
    damage.execute(sql)

    assert audited(path)
    assert REBUILT == repaired(path)
    assert () == repaired(path)


def test_wrong_totals_are_counted_again(path: Path, damage: apsw.Connection) -> None:
    damage.execute("UPDATE totals SET chunks = 4, length = 1")

    assert "the keyword index and the chunks differ in number" in audited(path)
    repaired(path)
    assert (6, 6) == damage.execute("SELECT chunks, length FROM totals").get


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM codes",
        "UPDATE codes SET ids = substr(ids, 1, 16)",
        "UPDATE codes SET ids = x'0102030405'",
        "UPDATE codes SET ids = x''",
    ],
)
def test_codes_that_do_not_cover_the_vectors_are_given_up(
    path: Path, damage: apsw.Connection, sql: str
) -> None:
    damage.execute(sql)

    assert "the codes do not cover all vectors" in audited(path)
    assert ("1 entries of the index disagreed with its chunks and were repaired.",) == repaired(
        path
    )
    assert damage.execute("SELECT centre FROM spaces").get is None


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
    damage.execute("UPDATE spaces SET vectors = 5, centre = NULL")

    assert ["space 1 has the wrong count of vectors"] == audited(path)


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

    assert ["the keyword index has other terms than the chunk at memory/elk.md:1"] == audited(path)


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

    assert ["the keyword index has other days, texts or documents than the chunks"] == audited(path)
    with SqliteStore.open(path) as store, pytest.raises(TermsCorruptError):
        store.require_sound()


def test_a_chunk_whose_text_was_changed_by_hand_is_found_by_the_audit(
    path: Path, damage: apsw.Connection
) -> None:
    damage.execute("UPDATE chunks SET text = 'another word' WHERE id = 1")

    assert [
        "the keyword index has other terms than the chunk at memory/ant.md:1",
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
        said = [store.audit() for _ in range(40)]
        stopped.set()
        writer.join()

    assert [[]] * 40 == said


def test_two_who_open_at_once_repair_it_once(path: Path, damage: apsw.Connection) -> None:
    damage.execute("DELETE FROM postings")
    together = threading.Barrier(4)
    notices: list[tuple[str, ...]] = []

    def open_it() -> None:
        together.wait()
        store, said = open_file(path, engine="numpy")
        notices.append(said)
        store.close()

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1 == sum(map(bool, notices))
    assert [] == audited(path)
