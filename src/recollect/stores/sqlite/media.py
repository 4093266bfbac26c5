"""Chunks that stand for media files: which they are, and which have no vector yet.

They are few beside the texts, so they are named in a table of their own and the statements that
walk all chunks stay as they are. Every function runs inside its caller's transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.base import Missing

if TYPE_CHECKING:
    import apsw

    from recollect.types import Chunk

_PUT = "INSERT INTO media (chunk, content) VALUES (?, ?)"
_MISSING = """
    SELECT c.digest, c.prefix, c.text, d.path, d.size_bytes FROM chunks c
    JOIN documents d ON d.id = c.document
    WHERE c.id IN (
        SELECT min(c.id) FROM media m JOIN chunks c ON c.id = m.chunk
        WHERE c.digest > ?2
          AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ?1 AND v.digest = c.digest)
        GROUP BY c.digest ORDER BY c.digest LIMIT ?3
    ) ORDER BY c.digest
"""
_WAITING = """
    SELECT count(*) FROM media m JOIN chunks c ON c.id = m.chunk
    WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.digest = c.digest)
"""


def put(connection: apsw.Connection, key: int, chunk: Chunk) -> None:
    """Remember of a chunk just stored whether it stands for a media file."""
    if chunk.media:
        connection.execute(_PUT, (key, bytes.fromhex(chunk.media)))


def missing(
    connection: apsw.Connection, *, space: int | None, limit: int, after: str
) -> list[Missing]:
    """Return the media files that have no vector in a space, in the order of digests."""
    rows = connection.execute(_MISSING, (space, bytes.fromhex(after), limit))
    return [
        Missing(digest.hex(), f"{prefix}\n{text}" if prefix else text, path, size_bytes)
        for digest, prefix, text, path, size_bytes in rows
    ]


def waiting(connection: apsw.Connection, *, space: int | None) -> int:
    """Return how many chunks of media files have no vector in a space."""
    return int(connection.execute(_WAITING, (space,)).get)
