"""Documents, their chunks and terms in the file, and what is counted of them in a scope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.reports import Documents
from recollect.stores import term_counts
from recollect.stores.base import Loaded, is_expected
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.rows import (
    CHUNK_COLUMNS,
    FLOAT_BYTES,
    as_of,
    audience_of,
    blobs_of,
    chunk_of,
    day_of,
    fact_row,
    join_heading,
    source_of,
    split_heading,
    stack,
    vector_id,
)
from recollect.stores.sqlite.seal import remove, seal_tail
from recollect.stores.summary import KNOWN, known_of, loaded_of, summarize, summarize_days
from recollect.types import ChunkKey, SupersededFact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import apsw

    from recollect.reports import DaySummary, DocumentSummary
    from recollect.stores.base import DocumentWrite, Name
    from recollect.types import Chunk, Fingerprint, Known, Scope, SourceKind


ADD_TEXT = "INSERT INTO texts (digest) VALUES (?) ON CONFLICT DO NOTHING"
_INSERT_DOCUMENT = """
    INSERT INTO documents (source, path, digest, size_bytes, mtime_ns, is_settled, recipe, day)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_CHUNK = """
    INSERT INTO chunks (document, start_line, end_line, text_id, length, heading, prefix, bag, text,
                        day, speaker, moment, importance, triggers)
    VALUES (?, ?, ?, (SELECT id FROM texts WHERE digest = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_MEDIA = "INSERT INTO media (chunk, content) VALUES (?, ?)"
_INSERT_FACT = """
    INSERT INTO facts (chunk, id, scope, since, until, superseded_by) VALUES (?, ?, ?, ?, ?, ?)
"""
_TOUCH = """
    UPDATE documents SET size_bytes = ?, mtime_ns = ?, is_settled = ?
    WHERE source = ? AND path = ? AND digest = ?
"""
_KNOWN_OF = f"{KNOWN} WHERE source = ? AND path = ?"
_KEYS_OF = """
    SELECT c.id FROM documents d JOIN chunks c ON c.document = d.id
    WHERE d.source = ? AND d.path = ?
"""
_CHUNKS_OF = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document
    WHERE d.source = ? AND d.path = ? ORDER BY c.id
"""  # noqa: S608 - our own column names
# CROSS JOIN keeps the order of what was asked for: sorting would copy texts and vectors.
_LOAD = f"""
    SELECT {CHUNK_COLUMNS}, c.bag, c.length, v.tail, v.vector
    FROM json_each(?) asked
    CROSS JOIN chunks c ON c.id = asked.value
    CROSS JOIN documents d ON d.id = c.document
    LEFT JOIN vectors v
        ON v.id = {vector_id("(SELECT id FROM spaces WHERE fingerprint = ?)", "c.text_id")}
"""  # noqa: S608 - our own column names
_SUPERSEDED = """
    SELECT f.id, c.text, c.prefix, f.superseded_by,
           coalesce((SELECT n.text FROM facts g JOIN chunks n ON n.id = g.chunk
                     WHERE g.id = f.superseded_by), '')
    FROM facts f JOIN chunks c ON c.id = f.chunk
    WHERE f.superseded_by != '' AND f.until <= ?
      AND f.scope IN (SELECT value FROM json_each(?))
"""
# A file of facts is as large as those of its facts that are seen.
_DOCUMENTS = """
    SELECT d.path, d.source, d.day,
        iif(d.source = 'facts', sum(octet_length(c.text)), d.size_bytes),
        json_group_array(c.heading ORDER BY c.id)
    FROM documents d JOIN chunks c ON c.document = d.id WHERE {condition}
    GROUP BY d.id ORDER BY d.day IS NULL, d.day DESC, d.path, d.source LIMIT ? OFFSET ?
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
_VERSION = "SELECT ifnull(max(id), 0), (SELECT chunks FROM totals) FROM chunks"
_STAMPS = "SELECT stamp FROM spaces ORDER BY id"


class SqliteDocuments(SqliteFile):
    """Stores documents, chunks and terms, and counts them."""

    def known(self, names: Iterable[Name] | None = None) -> Mapping[Name, Known]:
        with self._reading() as connection:
            rows: Iterable[Sequence[object]] = (
                connection.execute(KNOWN)
                if names is None
                else (
                    row
                    for source, path in names
                    for row in connection.execute(_KNOWN_OF, (source.value, path))
                )
            )
            return {(row.source, row.path): row for row in known_of(rows)}

    def put_many(self, writes: Sequence[DocumentWrite], *, jointly: bool = False) -> list[bool]:
        # Before the transaction: others can write while terms are made.
        fields = [[*map(term_counts.field_terms, write.chunks or ())] for write in writes]
        with self._writing() as connection:
            if jointly and not all(is_expected(write, self.known) for write in writes):
                return [False] * len(writes)
            gone: list[int] = []
            stored = [
                self._put(connection, write, words, gone=gone)
                for write, words in zip(writes, fields, strict=True)
            ]
            remove(connection, gone)
            seal_tail(connection)
            return stored

    def _put(
        self,
        connection: apsw.Connection,
        write: DocumentWrite,
        fields: Sequence[tuple[list[str], ...]],
        *,
        gone: list[int],
    ) -> bool:
        if not is_expected(write, self.known):
            return False
        document = write.document
        stats = (document.stat.size_bytes, document.stat.mtime_ns, int(document.is_settled))
        if write.chunks is None:
            own = (document.source.value, document.path, document.digest)
            connection.execute(_TOUCH, (*stats, *own))
            return True
        self._delete(connection, (document.source, document.path), gone=gone)
        connection.execute(
            _INSERT_DOCUMENT,
            (
                document.source.value,
                document.path,
                document.digest,
                *stats,
                write.recipe,
                document.when.isoformat() if document.when else None,
            ),
        )
        owner = connection.last_insert_rowid()
        for chunk, words in zip(write.chunks, fields, strict=True):
            _insert_chunk(connection, owner, chunk, words)
        return True

    def drop_many(self, gone: Sequence[Known]) -> None:
        keys: list[int] = []
        with self._writing() as connection:
            stored = self.known((each.source, each.path) for each in gone)
            for each in gone:
                name = (each.source, each.path)
                if each == stored.get(name):
                    self._delete(connection, name, gone=keys)
            remove(connection, keys)

    def _delete(self, connection: apsw.Connection, name: Name, *, gone: list[int]) -> None:
        """Delete a document, and add its chunks to `gone`."""
        source, path = name
        own = (source.value, path)
        gone += [key for (key,) in connection.execute(_KEYS_OF, own)]
        connection.execute("DELETE FROM documents WHERE source = ? AND path = ?", own)

    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        with self._reading() as connection:
            return [chunk_of(row) for row in connection.execute(_CHUNKS_OF, (source.value, path))]

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        with self._reading() as connection:
            rows = list(connection.execute(_LOAD, (json.dumps(list(keys)), str(fingerprint))))
            held = [(vector, tail) for *_, tail, vector in rows if vector is not None]
            blobs = [vector for vector, _ in held]
            width = len(blobs[0]) // FLOAT_BYTES if blobs else 0
            stored = iter(stack(blobs, [tail for _, tail in held], dimensions=width))
            bags = blobs_of([row[-4] for row in rows], entry_bytes=term_counts.ENTRY_BYTES)
            return loaded_of(
                [ChunkKey(row[0]) for row in rows],
                [chunk_of(row) for row in rows],
                lengths=[row[-3] for row in rows],
                counts=term_counts.count(bags, terms),
                vectors=[None if row[-1] is None else next(stored) for row in rows],
            )

    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        with self._reading() as connection:
            rows = connection.execute(_SUPERSEDED, (as_of(scope), audience_of(scope)))
            return [SupersededFact(*row) for row in rows]

    def version(self) -> tuple[int, ...]:
        # Chunks are never changed in place, and no id is used twice.
        with self._reading() as connection:
            stamps = (stamp for (stamp,) in connection.execute(_STAMPS))
            return (*connection.execute(_VERSION).get, *stamps)

    def holds(self, scope: Scope | None = None) -> bool:
        with self._reading() as connection:
            if scope is None:
                return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM documents)").get)
            sieve = Filter(connection, scope)
            return any(sieve.view(piece).chunks for piece in sieve.pieces)

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        with self._reading() as connection:
            condition, bindings = Filter(connection, scope).condition()
            total = connection.execute(_COUNT_DOCUMENTS.format(condition=condition), bindings).get
            rows = connection.execute(
                _DOCUMENTS.format(condition=condition), (*bindings, limit, offset)
            )
            found = tuple(_summary_of(*row) for row in rows)
        return Documents(found, total=int(total))

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        with self._reading() as connection:
            condition, bindings = Filter(connection, scope).condition()
            rows = connection.execute(_DAYS.format(condition=condition), bindings)
            return summarize_days((day_of(day), *counted) for day, *counted in rows)


def _insert_chunk(
    connection: apsw.Connection, owner: int, chunk: Chunk, fields: tuple[list[str], ...]
) -> None:
    digest = bytes.fromhex(chunk.digest)
    connection.execute(ADD_TEXT, (digest,))
    connection.execute(
        _INSERT_CHUNK,
        (
            owner,
            chunk.start_line,
            chunk.end_line,
            digest,
            len(fields[0]),
            join_heading(chunk.heading),
            chunk.prefix,
            term_counts.pack(fields),
            chunk.text,
            chunk.when.isoformat() if chunk.when else None,
            chunk.speaker,
            chunk.moment,
            chunk.importance,
            chunk.triggers,
        ),
    )
    key = connection.last_insert_rowid()
    if chunk.media:
        connection.execute(_INSERT_MEDIA, (key, bytes.fromhex(chunk.media)))
    if chunk.fact is not None:
        connection.execute(_INSERT_FACT, (key, *fact_row(chunk.fact)))


def _summary_of(
    path: str, source: str, day: str | None, size_bytes: int, headings: str
) -> DocumentSummary:
    return summarize(
        path,
        source=source_of(source),
        when=day_of(day),
        size_bytes=size_bytes,
        headings=[split_heading(heading) for heading in json.loads(headings)],
    )
