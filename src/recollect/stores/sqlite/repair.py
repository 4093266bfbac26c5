"""Finds where terms, counts and codes disagree with the chunks, and repairs them.

Chunks are the truth inside the file. Opening a store compares counts and samples, and repairs: it
counts again, and drops codes that do not cover their vectors. If the keyword index lost chunks, or
a sample shows that it lost terms, it is rebuilt. Missing vectors are not repaired: the next sync
embeds them. `recollect doctor --verify` audits every row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores import term_counts
from recollect.stores.sqlite.codes import ENTRY, forget_codes, made
from recollect.stores.sqlite.missing import is_mark_true
from recollect.stores.sqlite.rows import (
    CHUNK_COLUMNS,
    KNOWN,
    TEXT_BITS,
    TermsRowError,
    check_tail,
    check_terms,
    chunk_of,
    ids_in,
    known_of,
    text_in,
    vector_id,
)
from recollect.stores.sqlite.terms import (
    RECOUNT,
    has_all_columns,
    has_lost_terms,
    held,
    sign,
    signatures,
)
from recollect.stores.sqlite.vectors import COUNT_VECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

_TOTALS = "SELECT chunks, length FROM totals"
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
_TAILS = """
    SELECT tail FROM vectors UNION ALL SELECT tail FROM codes UNION ALL SELECT tail FROM word_codes
"""
_TERM_TAILS = "SELECT tail FROM columns UNION ALL SELECT tail FROM postings"
_ORPHANS = "SELECT count(*) FROM chunks WHERE document NOT IN (SELECT id FROM documents)"
_UNLISTED = "SELECT count(*) != (SELECT count(*) FROM chunks) FROM memory_fts_docsize"
_NAMELESS = f"""
    SELECT count(*) FROM vectors WHERE {text_in("id")} NOT IN (SELECT id FROM texts)
        OR id >> {TEXT_BITS} NOT IN (SELECT id FROM spaces)
"""  # noqa: S608 - our own column names
_MISSHAPEN = f"""
    SELECT DISTINCT s.fingerprint FROM vectors v JOIN spaces s ON s.id = v.id >> {TEXT_BITS}
    WHERE length(v.vector) != s.dimensions * ?
"""  # noqa: S608 - our own column names
_WORDLESS = "SELECT count(*) FROM word_codes WHERE id NOT IN (SELECT id FROM vectors)"
_MISCODED = f"""
    SELECT DISTINCT s.fingerprint FROM word_codes w JOIN spaces s ON s.id = w.id >> {TEXT_BITS}
    WHERE length(w.codes) = 0 OR length(w.codes) % ((s.dimensions + 7) / 8)
"""  # noqa: S608 - our own column names
_CODED = f"""
    SELECT asked.value, v.vector FROM json_each(?1) asked
    JOIN vectors v ON v.id = {vector_id("?2", "asked.value")}
"""  # noqa: S608 - our own column names
_PAGE = 2000
_FLOAT_BYTES = 4
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Drift:
    """What disagrees with the chunks."""

    counts: bool
    """True if the totals or the keyword index do not match the number of chunks."""
    codes: tuple[int, ...]
    """Spaces whose codes do not cover their vectors."""
    lost_terms: bool = False
    """True if the keyword index does not find a chunk by its own terms."""

    @property
    def is_any(self) -> bool:
        """True if something has to be repaired."""
        return self.counts or bool(self.codes) or self.lost_terms


def find_drift(connection: apsw.Connection) -> Drift:
    """Compare counts and a sample: it takes a few milliseconds, so every opening can afford it."""
    codes = tuple(int(row[0]) for row in connection.execute(_UNCODED))
    row = connection.execute(_TOTALS).fetchone()
    indexed = held(connection)
    if row is not None and row[0] == indexed:
        return Drift(counts=False, codes=codes, lost_terms=has_lost_terms(connection))
    counted = connection.execute("SELECT count(*) FROM chunks").get
    return Drift(counts=True, codes=codes, lost_terms=counted != indexed)


def needs_terms(connection: apsw.Connection) -> bool:
    """Return whether the keyword index has to be rebuilt."""
    try:
        return find_drift(connection).lost_terms
    except TermsRowError:
        return True


def repair(connection: apsw.Connection) -> int:
    """Make totals and codes match the chunks; return how many were wrong.

    Runs inside the caller's transaction.
    """
    before = connection.execute(_TOTALS).fetchone()
    connection.execute(RECOUNT)
    is_recounted = before != connection.execute(_TOTALS).fetchone()
    wrong = {int(row[0]) for sql in (_UNCODED, _MISCOUNTED) for row in connection.execute(sql)}
    for space in wrong:
        connection.execute(f"{COUNT_VECTORS} WHERE id = ?", (space,))
        forget_codes(connection, space=space)
    return len(wrong) or int(is_recounted)


def find_broken(connection: apsw.Connection) -> Iterator[str]:
    """Read every page and every record; yield what SQLite finds wrong.

    Runs inside the caller's snapshot.

    Raises:
        RowError: a record cannot be read.

    """
    # FTS5 checks what it remembers of its pages, which is of another snapshot until it is read.
    connection.execute("SELECT rowid FROM memory_fts LIMIT 1").fetchall()
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    yield from (problem for problem in problems if problem != "ok")
    for row in connection.execute(KNOWN):
        known_of(row)
    for row in connection.execute(_RECORDS):
        chunk_of(row)
    for (tail,) in connection.execute(_TAILS):
        check_tail(tail)
    for (tail,) in connection.execute(_TERM_TAILS):
        check_terms(check_tail, tail)


def audit(connection: apsw.Connection) -> Iterator[str]:
    """Read every row; yield a sentence for everything that disagrees with the chunks."""
    yield from find_broken(connection)
    if connection.execute(_ORPHANS).get:
        yield "some chunks have no document"
        return
    drift = find_drift(connection)
    if drift.counts:
        yield "the keyword index and the chunks differ in number"
    if drift.codes:
        yield "the codes do not cover all vectors"
    if connection.execute(_UNLISTED).get:
        yield "the table memory_fts and the chunks differ in number"
    yield from _wrong_terms(connection)
    if not has_all_columns(connection):
        yield "the keyword index has other days, texts or documents than the chunks"
    yield from _wrong_vectors(connection)
    yield from _wrong_codes(connection)


def _wrong_terms(connection: apsw.Connection) -> Iterator[str]:
    """Compare the terms of each chunk in the keyword index with those of its text."""
    ids, indexed = signatures(connection)
    last = 0
    while page := list(connection.execute(_CHUNKS, (last, _PAGE))):
        last = int(page[-1][0])
        chunks = [chunk_of(row) for row in page]
        fields = [term_counts.field_terms(chunk) for chunk in chunks]
        bags = [term_counts.pack(words) for words in fields]
        own = slice(*np.searchsorted(ids, (page[0][0], last + 1)))
        found = dict(zip(ids[own].tolist(), indexed[own].tolist(), strict=True))
        for row, chunk, words, bag, signed in zip(
            page, chunks, fields, bags, sign(bags).tolist(), strict=True
        ):
            place = f"{chunk.path}:{chunk.start_line}"
            if found.get(row[0]) != signed:
                yield f"the keyword index has other terms than the chunk at {place}"
            if row[-3] != bag or row[-2] != len(words[0]):
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
    if not is_mark_true(connection):
        yield "some chunks that count as embedded have no vector"
    for (fingerprint,) in connection.execute(_MISCODED):
        yield f"word codes of {fingerprint} have the wrong length"
    if connection.execute(_WORDLESS).get:
        yield "some word codes have no vector"


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
