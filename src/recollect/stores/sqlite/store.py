"""SqliteStore: documents, chunks, terms and vectors of one agent in one file.

Each public method is one transaction; finding by terms and by vector is in the files beside this.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from recollect.stores import bag
from recollect.stores.base import KeywordPool, Loaded, Missing, VectorPool
from recollect.stores.sqlite import schema
from recollect.stores.sqlite.connect import connect, files_of, reading, translated, writing
from recollect.stores.sqlite.keyword import keyword_pool
from recollect.stores.sqlite.scan import NumpyScan
from recollect.stores.sqlite.vec import SqliteVec, load_extension
from recollect.stores.vectors import check_vectors
from recollect.types import Chunk, ChunkKey, Known, SourceKind, Stat, StoreStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    import apsw

    from recollect.types import Document, Fingerprint, Scope, Vector, Vectors

_HEADING_JOINT = "\x1f"  # cannot stand in a heading: control characters are not text

_KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
_INSERT_DOCUMENT = """
    INSERT INTO documents (source, path, digest, size_bytes, mtime_ns, is_settled, recipe, day)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_CHUNK = """
    INSERT INTO chunks (document, start_line, end_line, digest, length, heading, prefix, bag, text)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_TERMS = "INSERT INTO terms (rowid, body, heading, path) VALUES (?, ?, ?, ?)"
_MISSING = """
    SELECT digest, prefix, text FROM chunks WHERE id IN (
        -- Walks the digest index alone: texts are read for the few that are wanted.
        SELECT min(c.id) FROM chunks c
        WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.digest = c.digest)
        GROUP BY c.digest LIMIT ?
    )
"""
_LOAD = """
    SELECT c.id, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, d.day,
           c.bag, c.length, v.vector
    FROM json_each(?) asked
    JOIN chunks c ON c.id = asked.value
    JOIN documents d ON d.id = c.document
    LEFT JOIN vectors v ON v.space = ? AND v.digest = c.digest
    ORDER BY asked.key
"""
_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id)
    FROM documents d LEFT JOIN chunks c ON c.document = d.id GROUP BY d.source
"""
_EMBEDDED = """
    SELECT count(*) FROM chunks c
    WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.digest = c.digest)
"""
_CACHED = "SELECT count(*) FROM vectors WHERE digest NOT IN (SELECT digest FROM chunks)"
_CLEAR = """
    DELETE FROM documents;
    DELETE FROM codes;
    DELETE FROM vectors;
    DELETE FROM spaces;
"""


class Engine(Protocol):
    """How vectors are searched inside the file."""

    @property
    def name(self) -> str:
        """Return the name shown in status."""

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""

    def added(self, connection: apsw.Connection, *, space: int, ids: Sequence[int]) -> None:
        """Keep what is derived from vectors in step; called inside their transaction."""


class SqliteStore:
    """A Store in one SQLite file. Use `SqliteStore.open`."""

    def __init__(
        self, connection: apsw.Connection, *, path: Path, engine: Engine, is_writable: bool
    ) -> None:
        self._connection = connection
        self._path = path
        self._engine = engine
        self._is_writable = is_writable

    @classmethod
    def open(
        cls, path: Path, *, engine: str | Engine = "numpy", writable: bool = True
    ) -> SqliteStore:
        """Open or create the file and bring its tables up to date.

        Raises:
            StoreError: and its kinds, when the file cannot be used.

        """
        connection = connect(path, writable=writable)
        try:
            with translated(path):
                if writable:
                    schema.migrate(connection, path=path)
                else:
                    schema.check(connection, path=path)
                if engine == "sqlite-vec":
                    load_extension(connection)
        except BaseException:
            connection.close()
            raise
        if isinstance(engine, str):
            engine = SqliteVec() if engine == "sqlite-vec" else NumpyScan()
        return cls(connection, path=path, engine=engine, is_writable=writable)

    @property
    def is_writable(self) -> bool:
        """False when the file or its folder could not be opened for writing."""
        return self._is_writable

    def known(self) -> Mapping[tuple[SourceKind, str], Known]:
        """Return what is stored of each document, by source and path."""
        with translated(self._path):
            rows = [
                Known(
                    path=path,
                    source=SourceKind(source),
                    digest=digest,
                    stat=Stat(size_bytes, mtime_ns),
                    recipe=recipe,
                    is_settled=bool(is_settled),
                )
                for source, path, digest, size_bytes, mtime_ns, recipe, is_settled in (
                    self._connection.execute(_KNOWN)
                )
            ]
        return {(row.source, row.path): row for row in rows}

    def put(self, document: Document, chunks: Sequence[Chunk], *, recipe: str) -> None:
        """Store a document with its chunks in one transaction, replacing what was there."""
        fields = [bag.field_terms(chunk) for chunk in chunks]
        with translated(self._path), writing(self._connection):
            self._delete(document.path, document.source)
            self._connection.execute(
                _INSERT_DOCUMENT,
                (
                    document.source.value,
                    document.path,
                    document.digest,
                    document.stat.size_bytes,
                    document.stat.mtime_ns,
                    int(document.is_settled),
                    recipe,
                    document.when.isoformat() if document.when else None,
                ),
            )
            owner = self._connection.last_insert_rowid()
            for chunk, words in zip(chunks, fields, strict=True):
                self._insert_chunk(owner, chunk, words)

    def _insert_chunk(self, owner: int, chunk: Chunk, fields: tuple[list[str], ...]) -> None:
        self._connection.execute(
            _INSERT_CHUNK,
            (
                owner,
                chunk.start_line,
                chunk.end_line,
                bytes.fromhex(chunk.digest),
                len(fields[0]),
                _HEADING_JOINT.join(chunk.heading),
                chunk.prefix,
                bag.pack(fields),
                chunk.text,
            ),
        )
        key = self._connection.last_insert_rowid()
        self._connection.execute(_INSERT_TERMS, (key, *(" ".join(words) for words in fields)))

    def touch(self, document: Document) -> None:
        """Remember a new stat of a document whose content did not change."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "UPDATE documents SET size_bytes = ?, mtime_ns = ?, is_settled = ? "
                "WHERE source = ? AND path = ?",
                (
                    document.stat.size_bytes,
                    document.stat.mtime_ns,
                    int(document.is_settled),
                    document.source.value,
                    document.path,
                ),
            )

    def drop(self, path: str, *, source: SourceKind) -> None:
        """Forget a document; vectors of its texts stay."""
        with translated(self._path), writing(self._connection):
            self._delete(path, source)

    def _delete(self, path: str, source: SourceKind) -> None:
        self._connection.execute(
            "DELETE FROM documents WHERE source = ? AND path = ?", (source.value, path)
        )

    def missing(self, fingerprint: Fingerprint, *, limit: int) -> Sequence[Missing]:
        """Return texts of stored chunks that have no vector in this space, each text once."""
        with translated(self._path):
            rows = self._connection.execute(_MISSING, (self._space(fingerprint), limit))
            return [
                Missing(digest.hex(), f"{prefix}\n{text}" if prefix else text)
                for digest, prefix, text in rows
            ]

    def put_vectors(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors by the digest of their text, in one transaction."""
        check_vectors(vectors, count=len(digests), dimensions=fingerprint.dimensions)
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "INSERT OR IGNORE INTO spaces (fingerprint, dimensions) VALUES (?, ?)",
                (str(fingerprint), fingerprint.dimensions),
            )
            space = self._space(fingerprint)
            assert space is not None  # noqa: S101 - the row was inserted above
            ids = [
                row[0]
                for digest, vector in zip(digests, vectors, strict=True)
                for row in self._connection.execute(
                    "INSERT INTO vectors (space, digest, vector) VALUES (?, ?, ?) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    (space, bytes.fromhex(digest), vector.astype(np.float32).tobytes()),
                )
            ]
            self._connection.execute(
                "UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (len(ids), space)
            )
            self._engine.added(self._connection, space=space, ids=ids)

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordPool:
        """Return up to `limit` chunks in scope that hold any of the terms."""
        with translated(self._path), reading(self._connection):
            return keyword_pool(self._connection, terms, scope=scope, limit=limit)

    def nearest(
        self, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope whose vectors are nearest, within one space only."""
        with translated(self._path), reading(self._connection):
            space = self._space(fingerprint)
            if space is None:
                return VectorPool((), ())
            return self._engine.nearest(
                self._connection, space=space, vector=vector, scope=scope, limit=limit
            )

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        """Return chunks, term counts and vectors; keys that no longer exist are left out."""
        with translated(self._path), reading(self._connection):
            space = self._space(fingerprint) if fingerprint else None
            rows = list(self._connection.execute(_LOAD, (json.dumps(list(keys)), space)))
        dimensions = fingerprint.dimensions if fingerprint else 0
        vectors = np.zeros((len(rows), dimensions), dtype=np.float32)
        has_vector = np.array([row[-1] is not None for row in rows], dtype=np.bool_)
        for place, row in enumerate(rows):
            if row[-1] is not None:
                vectors[place] = np.frombuffer(row[-1], dtype=np.float32)
        return Loaded(
            keys=tuple(ChunkKey(row[0]) for row in rows),
            chunks=tuple(_chunk(row) for row in rows),
            counts=bag.count([row[9] for row in rows], terms),
            lengths=np.array([row[10] for row in rows], dtype=np.int64),
            vectors=vectors,
            has_vector=has_vector,
        )

    def status(self, fingerprint: Fingerprint | None) -> StoreStatus:
        """Return sizes and counts."""
        with translated(self._path), reading(self._connection):
            by_source = {
                source: (documents, chunks)
                for source, documents, chunks in self._connection.execute(_BY_SOURCE)
            }
            space = self._space(fingerprint) if fingerprint else None
            embedded = self._connection.execute(_EMBEDDED, (space,)).get
            cached = self._connection.execute(_CACHED).get
        chunks = sum(counts[1] for counts in by_source.values())
        return StoreStatus(
            location=str(self._path),
            size_bytes=sum(file.stat().st_size for file in files_of(self._path) if file.exists()),
            documents=sum(counts[0] for counts in by_source.values()),
            chunks=chunks,
            by_source=by_source,
            vectors=embedded,
            pending=chunks - embedded if fingerprint else 0,
            cached=cached,
            engine=self._engine.name,
            is_writable=self._is_writable,
        )

    def check(self) -> list[str]:
        """Return what is wrong with the file, read in full: nothing when it is sound."""
        with translated(self._path):
            rows = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check(5)")]
        return [row for row in rows if row != "ok"]

    def clear(self) -> None:
        """Forget everything, cached vectors too, and give the room back."""
        with translated(self._path):
            with writing(self._connection):
                self._connection.execute(_CLEAR)
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _space(self, fingerprint: Fingerprint) -> int | None:
        found = self._connection.execute(
            "SELECT id FROM spaces WHERE fingerprint = ?", (str(fingerprint),)
        ).get
        return None if found is None else int(found)


def _chunk(row: tuple[object, ...]) -> Chunk:
    _, path, source, start_line, end_line, text, heading, prefix, day, *_ = row
    return Chunk(
        path=str(path),
        source=SourceKind(str(source)),
        start_line=int(start_line),  # type: ignore[call-overload]
        end_line=int(end_line),  # type: ignore[call-overload]
        text=str(text),
        heading=tuple(str(heading).split(_HEADING_JOINT)) if heading else (),
        prefix=str(prefix),
        when=date.fromisoformat(str(day)) if day else None,
    )
