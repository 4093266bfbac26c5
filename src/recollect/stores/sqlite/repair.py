"""Finding out that the parts of an index disagree, and mending them from the chunks.

Chunks are the truth inside the file. Terms are written anew for chunks that lack them, terms
without a chunk are dropped, and codes that do not cover the vectors are made again. Missing vectors
are not mended here: the next sync embeds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.stores import bag
from recollect.stores.sqlite.rows import CHUNK_COLUMNS, chunk_of
from recollect.stores.sqlite.scan import forget_codes

if TYPE_CHECKING:
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
INSERT_TERMS = "INSERT INTO terms (rowid, body, heading, path) VALUES (?, ?, ?, ?)"
_RECOUNT = """
    UPDATE totals SET chunks = (SELECT count(*) FROM chunks),
                      length = (SELECT coalesce(sum(length), 0) FROM chunks)
"""
_UNCODED = """
    SELECT s.id FROM spaces s WHERE s.centre IS NOT NULL AND s.vectors != (
        SELECT coalesce(sum(length(k.ids)), 0) / 8 FROM codes k WHERE k.space = s.id
    )
"""
MISCOUNTED = """
    SELECT s.id FROM spaces s
    WHERE s.vectors != (SELECT count(*) FROM vectors v WHERE v.space = s.id)
"""


@dataclass(frozen=True, slots=True)
class Drift:
    """What disagrees with the chunks."""

    counts: bool
    """Totals or terms are not as many as chunks."""
    codes: tuple[int, ...]
    """Spaces whose codes do not cover their vectors."""

    @property
    def is_any(self) -> bool:
        """True when something has to be mended."""
        return self.counts or bool(self.codes)


def find_drift(connection: apsw.Connection) -> Drift:
    """Compare counts: a few milliseconds, so that every opening can afford it."""
    counts = connection.execute(_COUNTS).fetchone()
    codes = tuple(int(row[0]) for row in connection.execute(_UNCODED))
    return Drift(counts=counts is not None and len(set(counts)) > 1, codes=codes)


def mend(connection: apsw.Connection) -> int:
    """Bring terms, totals and codes into agreement with the chunks; return how many were wrong.

    Runs inside the caller's transaction.
    """
    strays = [int(row[0]) for row in connection.execute(_WITHOUT_CHUNK)]
    for key in strays:
        connection.execute("DELETE FROM terms WHERE rowid = ?", (key,))
    bare = list(connection.execute(_WITHOUT_TERMS))
    for row in bare:
        fields = bag.field_terms(chunk_of(row))
        connection.execute(INSERT_TERMS, (row[0], *(" ".join(words) for words in fields)))
    connection.execute(_RECOUNT)
    wrong = {int(row[0]) for sql in (_UNCODED, MISCOUNTED) for row in connection.execute(sql)}
    for space in wrong:
        connection.execute(
            "UPDATE spaces SET vectors = (SELECT count(*) FROM vectors WHERE space = ?1) "
            "WHERE id = ?1",
            (space,),
        )
        forget_codes(connection, space=space)
    return len(strays) + len(bare) + len(wrong)
