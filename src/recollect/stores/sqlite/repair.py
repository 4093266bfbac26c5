"""Finds where terms, counts and codes disagree with the chunks, and repairs them.

Chunks are the truth inside the file. Opening a store compares counts and samples, and repairs: it
writes the terms of chunks that lack them, deletes terms without a chunk, and drops codes that do
not cover their vectors. If a sample shows that the keyword index lost terms, it is rebuilt. Missing
vectors are not repaired: the next sync embeds them. `recollect verify` audits every row.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores import term_counts
from recollect.stores.base import FIELDS
from recollect.stores.sqlite.documents import INSERT_TERMS
from recollect.stores.sqlite.rows import (
    CHUNK_COLUMNS,
    KNOWN,
    TEXT_BITS,
    RowError,
    blob_of,
    check_tail,
    chunk_of,
    ids_in,
    known_of,
    match_all,
    text_in,
    text_of,
    vector_id,
)
from recollect.stores.sqlite.scan import forget_codes
from recollect.stores.sqlite.vectors import COUNT_VECTORS
from recollect.stores.vectors import encode
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

_COUNTS = """
    SELECT (SELECT chunks FROM totals),
           (SELECT count(*) FROM chunks),
           (SELECT count(*) FROM terms_docsize)
"""
_WITHOUT_TERMS = f"""
    SELECT {CHUNK_COLUMNS}
    FROM chunks c JOIN documents d ON d.id = c.document
    WHERE c.id NOT IN (SELECT id FROM terms_docsize)
"""  # noqa: S608 - our own column names
_WITHOUT_CHUNK = "SELECT id FROM terms_docsize WHERE id NOT IN (SELECT id FROM chunks)"
_TOTALS = "SELECT chunks, length FROM totals"
_RECOUNT = """
    DELETE FROM totals;
    INSERT INTO totals (chunks, length) SELECT count(*), coalesce(sum(length), 0) FROM chunks
"""
_UNCODED = """
    SELECT s.id FROM spaces s WHERE s.centre IS NOT NULL AND s.vectors != (
        SELECT coalesce(sum(length(k.ids)), 0) / 8 FROM codes k WHERE k.space = s.id
    )
"""
_MISCOUNTED = f"""
    SELECT s.id FROM spaces s
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
_TAILS = "SELECT tail FROM vectors UNION ALL SELECT tail FROM codes"
_INSTANCES = """
    SELECT doc, term, col, count(*) FROM instances
    WHERE doc IN (SELECT value FROM json_each(?)) GROUP BY doc, term, col
"""
_NO_TERMS = "SELECT rowid FROM terms WHERE rowid = -1"
_ORPHANS = "SELECT count(*) FROM chunks WHERE document NOT IN (SELECT id FROM documents)"
_NAMELESS = f"""
    SELECT count(*) FROM vectors WHERE {text_in("id")} NOT IN (SELECT id FROM texts)
        OR id >> {TEXT_BITS} NOT IN (SELECT id FROM spaces)
"""  # noqa: S608 - our own column names
_MISSHAPEN = f"""
    SELECT DISTINCT s.fingerprint FROM vectors v JOIN spaces s ON s.id = v.id >> {TEXT_BITS}
    WHERE length(v.vector) != s.dimensions * ?
"""  # noqa: S608 - our own column names
_CODED = f"""
    SELECT asked.value, v.vector FROM json_each(?1) asked
    JOIN vectors v ON v.id = {vector_id("?2", "asked.value")}
"""  # noqa: S608 - our own column names
_SAMPLE = "SELECT id, text, bag FROM chunks WHERE id >= ? ORDER BY id LIMIT 1"
_IS_FOUND = "SELECT count(*) FROM terms WHERE terms MATCH ? AND rowid = ?"
_POSTINGS = f"""
    SELECT (SELECT coalesce(sum(doc), 0) FROM vocabulary),
           (SELECT coalesce(sum(length(bag)), 0) / {term_counts.ENTRY_BYTES} FROM chunks)
"""  # noqa: S608 - our own number
_TABLES = """
    SELECT sql FROM sqlite_schema WHERE name IN ('terms', 'vocabulary') ORDER BY name = 'vocabulary'
"""
_SAMPLED_CHUNKS = 4
_SAMPLED_TERMS = 8  # per chunk
_PAGE = 2000
_FLOAT_BYTES = 4
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Drift:
    """What disagrees with the chunks."""

    counts: bool
    """True if totals or terms do not match the number of chunks."""
    codes: tuple[int, ...]
    """Spaces whose codes do not cover their vectors."""
    lost_terms: bool = False
    """True if the keyword index does not find a chunk by its own terms."""

    @property
    def is_any(self) -> bool:
        """True if something has to be repaired."""
        return self.counts or bool(self.codes) or self.lost_terms


def find_drift(connection: apsw.Connection) -> Drift:
    """Compare counts: it takes a few milliseconds, so every opening can afford it."""
    counts = connection.execute(_COUNTS).fetchone()
    codes = tuple(int(row[0]) for row in connection.execute(_UNCODED))
    differs = counts is not None and len(set(counts)) > 1
    return Drift(counts=differs, codes=codes, lost_terms=not differs and _lost_terms(connection))


def _lost_terms(connection: apsw.Connection) -> bool:
    """Return whether a few chunks, spread over the file, are not found by their own terms."""
    first, last = connection.execute("SELECT min(id), max(id) FROM chunks").get
    if first is None:
        return False
    starts = {first + (last - first) * at // (_SAMPLED_CHUNKS - 1) for at in range(_SAMPLED_CHUNKS)}
    for start in starts:
        row = connection.execute(_SAMPLE, (start,)).fetchone()
        if row is None:
            raise RowError("the last chunk is missing")
        key, text, packed = row[0], text_of(row[1]), blob_of(row[2])
        if len(packed) % term_counts.ENTRY_BYTES:
            return True
        # The rules may have changed since: only terms that were stored count.
        words = list(dict.fromkeys(terms(text)))
        counts = term_counts.count([packed], words)[0]
        stored = [word for word, own in zip(words, counts, strict=True) if own.any()]
        sample = stored[:: max(1, len(stored) // _SAMPLED_TERMS)][:_SAMPLED_TERMS]
        if sample and not connection.execute(_IS_FOUND, (match_all(sample), key)).get:
            return True
    return False


def has_all_terms(connection: apsw.Connection) -> bool:
    """Return whether the keyword index has as many entries as the chunks have terms: reads it."""
    indexed, counted = connection.execute(_POSTINGS).get
    return bool(indexed == counted)


def rebuild_terms(connection: apsw.Connection) -> int:
    """Make the keyword index anew from the chunks; return how many there are.

    Runs inside the caller's transaction.
    """
    tables = [str(row[0]) for row in connection.execute(_TABLES)]
    connection.execute("DROP TABLE vocabulary; DROP TABLE terms")
    for sql in tables:
        connection.execute(sql)
    last = done = 0
    while page := list(connection.execute(_CHUNKS, (last, _PAGE))):
        last = int(page[-1][0])
        done += len(page)
        for row in page:
            fields = term_counts.field_terms(chunk_of(row))
            connection.execute(INSERT_TERMS, (row[0], *(" ".join(words) for words in fields)))
            connection.execute(
                "UPDATE chunks SET bag = ?, length = ? WHERE id = ?",
                (term_counts.pack(fields), len(fields[0]), row[0]),
            )
    connection.execute(_RECOUNT)
    return done


def repair(connection: apsw.Connection) -> int:
    """Make terms, totals and codes match the chunks; return how many were wrong.

    Runs inside the caller's transaction.
    """
    strays = [int(row[0]) for row in connection.execute(_WITHOUT_CHUNK)]
    bare = list(connection.execute(_WITHOUT_TERMS))
    for key in strays:
        connection.execute("DELETE FROM terms WHERE rowid = ?", (key,))
    for row in bare:
        fields = term_counts.field_terms(chunk_of(row))
        connection.execute(INSERT_TERMS, (row[0], *(" ".join(words) for words in fields)))
    before = connection.execute(_TOTALS).fetchone()
    connection.execute(_RECOUNT)
    is_recounted = before != connection.execute(_TOTALS).fetchone()
    wrong = {int(row[0]) for sql in (_UNCODED, _MISCOUNTED) for row in connection.execute(sql)}
    for space in wrong:
        connection.execute(f"{COUNT_VECTORS} WHERE id = ?", (space,))
        forget_codes(connection, space=space)
    return len(strays) + len(bare) + len(wrong) or int(is_recounted)


def find_broken(connection: apsw.Connection) -> Iterator[str]:
    """Read every page and every record; yield what SQLite finds wrong.

    Runs inside the caller's snapshot. FTS5 checks the segments it knows from an earlier snapshot,
    and reports damage if another process has merged them since; a query makes it look again.

    Raises:
        RowError: a record cannot be read.

    """
    connection.execute(_NO_TERMS).get  # noqa: B018 - runs the query
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    yield from (problem for problem in problems if problem != "ok")
    for row in connection.execute(KNOWN):
        known_of(row)
    for row in connection.execute(_RECORDS):
        chunk_of(row)
    for (tail,) in connection.execute(_TAILS):
        check_tail(tail)


def audit(connection: apsw.Connection) -> Iterator[str]:
    """Read every row; yield a sentence for everything that disagrees with the chunks."""
    yield from find_broken(connection)
    if connection.execute(_ORPHANS).get:
        yield "some chunks have no document"
    drift = find_drift(connection)
    if drift.counts:
        yield "the keyword index and the chunks differ in number"
    if drift.codes:
        yield "the codes do not cover all vectors"
    yield from _wrong_terms(connection)
    yield from _wrong_vectors(connection)
    yield from _wrong_codes(connection)


def _wrong_terms(connection: apsw.Connection) -> Iterator[str]:
    """Compare the terms of each chunk in the keyword index with those of its text."""
    # A temporary table: only the audit reads it.
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab(main, terms, instance)"
    )
    last = 0
    while page := list(connection.execute(_CHUNKS, (last, _PAGE))):
        last = int(page[-1][0])
        indexed: dict[int, Counter[tuple[str, str]]] = {int(row[0]): Counter() for row in page}
        for key, term, field, count in connection.execute(_INSTANCES, (json.dumps(list(indexed)),)):
            indexed[int(key)][field, term] = int(count)
        for row in page:
            chunk = chunk_of(row)
            fields = term_counts.field_terms(chunk)
            place = f"{chunk.path}:{chunk.start_line}"
            wanted = Counter(
                (name, word) for name, words in zip(FIELDS, fields, strict=True) for word in words
            )
            if indexed[int(row[0])] != wanted:
                yield f"the keyword index has other terms than the chunk at {place}"
            if row[-3] != term_counts.pack(fields) or row[-2] != len(fields[0]):
                yield f"the term counts of the chunk at {place} do not match its text"
            if str(row[-1]).lower() != chunk.digest:
                yield f"the digest of the chunk at {place} does not match its text"


def _wrong_vectors(connection: apsw.Connection) -> Iterator[str]:
    for (fingerprint,) in connection.execute(_MISSHAPEN, (_FLOAT_BYTES,)):
        yield f"vectors of {fingerprint} have the wrong length"
    if connection.execute(_NAMELESS).get:
        yield "some vectors have no text or no space"
    for (space,) in connection.execute(_MISCOUNTED):
        yield f"space {space} has the wrong count of vectors"


def _wrong_codes(connection: apsw.Connection) -> Iterator[str]:
    coded = "SELECT id, fingerprint, centre FROM spaces WHERE centre IS NOT NULL"
    for space, fingerprint, centre in list(connection.execute(coded)):
        segments = "SELECT ids, codes FROM codes WHERE space = ?"
        for ids, codes in list(connection.execute(segments, (space,))):
            if _codes(connection, space=space, ids=ids, centre=centre) != codes:
                yield f"codes of {fingerprint} do not match its vectors"
                break


def _codes(connection: apsw.Connection, *, space: int, ids: bytes, centre: bytes) -> bytes | None:
    """Return the codes that these vectors should have; None if they cannot have any."""
    if len(ids) % _ID_BYTES:
        return None
    keys = np.frombuffer(ids, dtype=np.int64).tolist()
    rows = dict(connection.execute(_CODED, (json.dumps(keys), space)))
    if any(len(rows.get(key, b"")) != len(centre) for key in keys):
        return None
    floats = np.frombuffer(b"".join(rows[key] for key in keys), dtype=np.float32)
    middle = np.frombuffer(centre, dtype=np.float32)
    return encode(floats.reshape(len(keys), -1), middle).tobytes() if keys else b""
