"""Reads a whole file and says what is broken; the chunks are the truth that all else must match."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.stores import postings, term_counts
from recollect.stores.sqlite.codes import ENTRY, made
from recollect.stores.sqlite.rows import (
    CHUNK_COLUMNS,
    FLOAT_BYTES,
    TEXT_BITS,
    check_tail,
    chunk_of,
    ids_in,
    text_in,
    vector_id,
)
from recollect.stores.sqlite.segments import NAMES, ids_of, read_tail, sealed, segments
from recollect.stores.summary import KNOWN, known_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw
    import numpy.typing as npt

    from recollect.stores.sqlite.segments import Sealed, Segment

_MISCOUNTED = f"""
    SELECT s.fingerprint FROM spaces s
    WHERE s.vectors != (SELECT count(*) FROM vectors v WHERE v.id BETWEEN {ids_in("s.id")})
"""  # noqa: S608 - our own column names
_CHUNKS = f"""
    SELECT {CHUNK_COLUMNS}, c.bag, c.length,
        (SELECT hex(t.digest) FROM texts t WHERE t.id = c.text_id)
    FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id > ? ORDER BY c.id LIMIT ?
"""  # noqa: S608 - our own column names
_RECORDS = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document
"""  # noqa: S608 - our own column names
_TAILS = """
    SELECT tail FROM vectors UNION ALL SELECT tail FROM codes UNION ALL SELECT tail FROM word_codes
    UNION ALL SELECT tail FROM columns UNION ALL SELECT tail FROM postings
"""
_ORPHANS = "SELECT count(*) FROM chunks WHERE document NOT IN (SELECT id FROM documents)"
_UNLISTED = "SELECT count(*) != (SELECT count(*) FROM chunks) FROM memory_fts_docsize"
_WRONG_VECTORS = {
    "vectors of {} have the wrong length": f"""
        SELECT DISTINCT s.fingerprint FROM vectors v JOIN spaces s ON s.id = v.id >> {TEXT_BITS}
        WHERE length(v.vector) != s.dimensions * {FLOAT_BYTES}
    """,  # noqa: S608 - our own column names
    "some vectors have no text or no space": f"""
        SELECT 1 WHERE EXISTS (
            SELECT 1 FROM vectors WHERE {text_in("id")} NOT IN (SELECT id FROM texts)
                OR id >> {TEXT_BITS} NOT IN (SELECT id FROM spaces)
        )
    """,  # noqa: S608 - our own column names
    "the codes of {} do not cover all vectors": """
        SELECT s.fingerprint FROM spaces s WHERE s.vectors != (
            SELECT coalesce(sum(length(k.ids)), 0) / 8 FROM codes k WHERE k.space = s.id
        )
    """,
    "word codes of {} have the wrong length": f"""
        SELECT DISTINCT s.fingerprint FROM word_codes w JOIN spaces s ON s.id = w.id >> {TEXT_BITS}
        WHERE length(w.codes) = 0 OR length(w.codes) % ((s.dimensions + 7) / 8)
    """,  # noqa: S608 - our own column names
    "some word codes have no vector": """
        SELECT 1 WHERE EXISTS (SELECT 1 FROM word_codes WHERE id NOT IN (SELECT id FROM vectors))
    """,
}
"""What can be wrong about vectors, each with the statement that finds it."""
_CODED = f"""
    SELECT asked.value, v.vector FROM json_each(?1) asked
    JOIN vectors v ON v.id = {vector_id("?2", "asked.value")}
"""  # noqa: S608 - our own column names
_PAGE = 2000
_PLAIN = ("lengths", "days", "texts")


def find_broken(connection: apsw.Connection) -> Iterator[str]:
    """Read every page and every record, in the caller's snapshot; yield what is wrong."""
    # FTS5 checks what it remembers of its pages, which is of another snapshot until it is read.
    connection.execute("SELECT rowid FROM memory_fts LIMIT 1").fetchall()
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    yield from (problem for problem in problems if problem != "ok")
    known_of(connection.execute(KNOWN))
    for row in connection.execute(_RECORDS):
        chunk_of(row)
    for (tail,) in connection.execute(_TAILS):
        check_tail(tail)
    segments(connection)
    if not all(_has_chunks(connection, piece) for piece in sealed(connection)):
        yield "the keyword index does not have all terms of the chunks"
    for (fingerprint,) in connection.execute(_MISCOUNTED):
        yield f"the count of the vectors of {fingerprint} is wrong"


def find_disagreements(connection: apsw.Connection) -> Iterator[str]:
    """Yield a sentence for everything that disagrees with the texts and vectors of the chunks."""
    if connection.execute(_ORPHANS).get:
        yield "some chunks have no document"
        return
    if connection.execute(_UNLISTED).get:
        yield "the table memory_fts and the chunks differ in number"
    yield from _wrong_terms(connection)
    for sentence, statement in _WRONG_VECTORS.items():
        yield from (sentence.format(*row) for row in connection.execute(statement))
    yield from _wrong_codes(connection)


def _has_chunks(connection: apsw.Connection, piece: Sealed) -> bool:
    """Return whether a segment has the terms, days, texts and documents of its chunks."""
    live = np.flatnonzero(piece.read_live())
    signed = postings.signatures(piece.entries(), chunks=piece.chunks)
    after, done = piece.first - 1, 0
    while done < len(live):
        page = read_tail(connection, after=after, limit=min(_PAGE, len(live) - done))
        if page is None:
            return False
        own = live[done : done + page.chunks]
        are_equal = [
            np.array_equal(ids_of(page), ids_of(piece)[own]),
            np.array_equal(postings.signatures([page.own], chunks=page.chunks), signed[own]),
            *(np.array_equal(page.column(each), piece.column(each)[own]) for each in _PLAIN),
            *(np.array_equal(_by_chunk(page, each), _by_chunk(piece, each)[own]) for each in NAMES),
        ]
        if not all(are_equal):
            return False
        done += page.chunks
        after = page.last
    return True


def _by_chunk(segment: Segment, name: str) -> npt.NDArray[np.object_]:
    """Return for each chunk a text of its document."""
    texts = np.array(segment.names(name), dtype=np.object_)
    by_chunk: npt.NDArray[np.object_] = texts[segment.column("documents")]
    return by_chunk


def _wrong_terms(connection: apsw.Connection) -> Iterator[str]:
    """Compare the term counts and the digest of each chunk with its text."""
    last = 0
    while page := list(connection.execute(_CHUNKS, (last, _PAGE))):
        last = page[-1][0]
        for row in page:
            chunk = chunk_of(row)
            words = term_counts.field_terms(chunk)
            place = f"{chunk.path}:{chunk.start_line}"
            if row[-3] != term_counts.pack(words) or row[-2] != len(words[0]):
                yield f"the term counts of the chunk at {place} do not match its text"
            if str(row[-1]).lower() != chunk.digest:
                yield f"the digest of the chunk at {place} does not match its text"


def _wrong_codes(connection: apsw.Connection) -> Iterator[str]:
    coded = "SELECT id, fingerprint, centre FROM spaces WHERE centre IS NOT NULL"
    for space, fingerprint, centre in list(connection.execute(coded)):
        segments = "SELECT ids, codes FROM codes WHERE space = ?"
        for ids, codes in list(connection.execute(segments, (space,))):
            if not _are_codes(connection, ids, codes, space=space, centre=centre):
                yield f"codes of {fingerprint} do not match its vectors"
                break


def _are_codes(
    connection: apsw.Connection, ids: bytes, codes: bytes, *, space: int, centre: bytes
) -> bool:
    """Return whether these are the codes of the vectors that they name."""
    if len(ids) % ENTRY.itemsize:
        return False
    entries = np.frombuffer(ids, dtype=ENTRY)
    keys = entries["text"].tolist()
    if not keys:
        return not codes
    rows = dict(connection.execute(_CODED, (json.dumps(keys), space)))
    if any(2 * len(rows.get(key, b"")) != len(centre) for key in keys):
        return False
    middle, spread = np.split(np.frombuffer(centre, dtype=np.float32), 2)
    floats = np.frombuffer(b"".join(rows[key] for key in keys), dtype=np.float32)
    wanted, words = made(
        entries["text"], floats.reshape(len(keys), -1), centre=middle, spread=spread
    )
    # Sums may be rounded differently, depending on how many vectors are multiplied at once.
    return words.tobytes() == codes and np.allclose(entries["scale"], wanted["scale"], rtol=1e-3)
