"""The file seen from above: its documents, its days, and chunks spread evenly over all of it.

Every question is asked within a Scope, so that what a search may not see is not counted either.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from recollect.reports import Amount, DaySummary, Documents, DocumentSummary
from recollect.stores.sqlite import spaces
from recollect.stores.sqlite.connect import reading, translated
from recollect.stores.sqlite.rows import HEADING_JOINT
from recollect.stores.sqlite.scope import scope_sql
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import apsw
    import numpy.typing as npt

    from recollect.types import ChunkKey, Fingerprint, Scope, Vectors

    Row = tuple[ChunkKey, str, str, int, int, str, str | None]
    """Key, path, source, first line, last line, heading and day of a chunk."""

_DOCUMENTS = """
    SELECT d.path, d.source, d.day, d.size_bytes, count(*),
           json_group_array(c.heading ORDER BY c.id)
    FROM documents d JOIN chunks c ON c.document = d.id WHERE {condition}
    GROUP BY d.id ORDER BY d.day IS NULL, d.day DESC, d.path LIMIT ? OFFSET ?
"""
_COUNT_DOCUMENTS = """
    SELECT count(DISTINCT d.id) FROM documents d JOIN chunks c ON c.document = d.id
    WHERE {condition}
"""
_DAYS = """
    SELECT c.day, d.source, count(DISTINCT d.id), count(*)
    FROM chunks c JOIN documents d ON d.id = c.document WHERE {condition}
    GROUP BY c.day, d.source ORDER BY c.day, d.source
"""
_EMBEDDED = """
    SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document
    WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.digest = c.digest)
      AND {condition} ORDER BY c.id
"""
_ROWS = """
    SELECT c.id, d.path, d.source, c.start_line, c.end_line, c.heading, c.day, v.vector
    FROM json_each(?) asked JOIN chunks c ON c.id = asked.value
    JOIN documents d ON d.id = c.document
    JOIN vectors v ON v.space = ? AND v.digest = c.digest ORDER BY asked.key
"""
_VERSION = """
    SELECT ifnull(max(id), 0), (SELECT chunks FROM totals), (SELECT ifnull(max(id), 0) FROM vectors)
    FROM chunks
"""
_HEADINGS = 6  # of a document that are told


class Survey:
    """What a file holds, counted and sampled."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path

    def version(self) -> tuple[int, ...]:
        """Return what is another one after any chunk or vector came or went."""
        # Chunks are never changed in place, and neither ids are used again.
        with translated(self._path):
            return tuple(self._connection.execute(_VERSION).get)

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        """Return the documents that hold something in scope, the newest first, undated last."""
        condition, bindings = scope_sql(scope)
        with translated(self._path), reading(self._connection):
            total = self._connection.execute(
                _COUNT_DOCUMENTS.format(condition=condition), bindings
            ).get
            rows = self._connection.execute(
                _DOCUMENTS.format(condition=condition), (*bindings, limit, offset)
            )
            return Documents(tuple(map(_document_of, rows)), total=int(total))

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        """Return how much each day holds, the earliest first; what has no day comes before all."""
        condition, bindings = scope_sql(scope)
        found: dict[str | None, dict[str, Amount]] = {}
        with translated(self._path):
            rows = self._connection.execute(_DAYS.format(condition=condition), bindings)
            for day, source, documents, chunks in rows:
                found.setdefault(day, {})[source] = Amount(documents, chunks)
        return tuple(
            DaySummary(date.fromisoformat(day) if day else None, by_source)
            for day, by_source in found.items()
        )

    def embedded(self, fingerprint: Fingerprint, *, scope: Scope) -> npt.NDArray[np.int64]:
        """Return the keys of all chunks in scope that have a vector of this space, in order."""
        condition, bindings = scope_sql(scope)
        with translated(self._path):
            space = spaces.id_of(self._connection, fingerprint)
            rows = self._connection.execute(
                _EMBEDDED.format(condition=condition), (space, *bindings)
            )
            return np.fromiter((row[0] for row in rows), dtype=np.int64)

    def rows(self, keys: Sequence[int], *, fingerprint: Fingerprint) -> tuple[list[Row], Vectors]:
        """Return where these chunks stand, and their vectors; texts are not read."""
        with translated(self._path), reading(self._connection):
            space = spaces.id_of(self._connection, fingerprint)
            found = list(self._connection.execute(_ROWS, (json.dumps(list(keys)), space)))
        vectors = np.frombuffer(b"".join(row[-1] for row in found), dtype=np.float32)
        return [row[:-1] for row in found], vectors.reshape(len(found), -1 if found else 0)


def heading_of(stored: str) -> tuple[str, ...]:
    """Return the headings of their stored form, outermost first."""
    return tuple(stored.split(HEADING_JOINT)) if stored else ()


def _document_of(row: tuple[str, str, str | None, int, int, str]) -> DocumentSummary:
    path, source, day, size_bytes, chunks, stored = row
    headings = [heading_of(each) for each in json.loads(stored)]
    is_titled = source != SourceKind.FACTS and bool(headings[0])
    return DocumentSummary(
        path=path,
        source=SourceKind(source),
        date=date.fromisoformat(day) if day else None,
        title=headings[0][0] if is_titled else None,
        headings=tuple(_below(headings))[:_HEADINGS],
        chunks=chunks,
        size_bytes=size_bytes,
    )


def _below(headings: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield what stands below the titles, each once."""
    yield from dict.fromkeys(heading[1] for heading in headings if len(heading) > 1)
