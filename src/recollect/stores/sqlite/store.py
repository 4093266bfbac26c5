"""SqliteStore: documents, chunks, terms and vectors of one agent in one file, a method a step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from recollect.reports import StoreStatus
from recollect.stores import bag
from recollect.stores.base import KeywordPool, Loaded, Missing, VectorPool
from recollect.stores.sqlite import facts, schema, spaces
from recollect.stores.sqlite import media as files
from recollect.stores.sqlite.batches import SqliteBatches
from recollect.stores.sqlite.connect import connect, files_of, reading, translated, writing
from recollect.stores.sqlite.inspection import Inspection
from recollect.stores.sqlite.keyword import keyword_pool
from recollect.stores.sqlite.refusals import SqliteRefusals
from recollect.stores.sqlite.repair import INSERT_TERMS
from recollect.stores.sqlite.rows import CHUNK_COLUMNS, HEADING_JOINT, KNOWN, chunk_of, known_of
from recollect.stores.sqlite.scan import NumpyScan
from recollect.stores.sqlite.vec import SqliteVec, load_extension
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    import apsw

    from recollect.stores.base import Over, Space
    from recollect.types import (
        Background,
        Chunk,
        Document,
        Fingerprint,
        Known,
        Scope,
        SourceKind,
        Vector,
        Vectors,
    )

_FLOAT_BYTES = 4

_INSERT_DOCUMENT = """
    INSERT INTO documents (source, path, digest, size_bytes, mtime_ns, is_settled, recipe, day)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_CHUNK = """
    INSERT INTO chunks (document, start_line, end_line, digest, length, heading, prefix, bag, text,
                        day, speaker, moment)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_MISSING = """
    SELECT digest, prefix, text FROM chunks WHERE id IN (
        -- Walks the digest index alone: texts are read for the few that are wanted.
        SELECT min(c.id) FROM chunks c
        WHERE c.digest > ?2 AND c.id NOT IN (SELECT chunk FROM media)
          AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ?1 AND v.digest = c.digest)
        GROUP BY c.digest ORDER BY c.digest LIMIT ?3
    ) ORDER BY digest
"""
_LOAD = f"""
    SELECT {CHUNK_COLUMNS}, c.bag, c.length, v.vector
    FROM json_each(?) asked
    JOIN chunks c ON c.id = asked.value
    JOIN documents d ON d.id = c.document
    LEFT JOIN vectors v ON v.space = ? AND v.digest = c.digest
    ORDER BY asked.key
"""  # noqa: S608 - our own column names
_BY_SOURCE = """
    SELECT d.source, count(DISTINCT d.id), count(c.id)
    FROM documents d LEFT JOIN chunks c ON c.document = d.id GROUP BY d.source
"""
_EMBEDDED = """
    SELECT count(*) FROM chunks c
    WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.digest = c.digest)
"""
_FEW = 256  # unused vectors that are left where they are
_FEW_SHARE = 0.1  # of all vectors
_CLEAR = """
    DELETE FROM documents;
    DELETE FROM batches;
    DELETE FROM codes;
    DELETE FROM vectors;
    DELETE FROM spaces;
"""


class Engine(spaces.Derived, Protocol):
    """How vectors are searched inside the file."""

    @property
    def name(self) -> str:
        """Return the name shown in status."""

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""


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

    @property
    def inspection(self) -> Inspection:
        """A close look at the file itself."""
        return Inspection(self._connection, path=self._path)

    @property
    def batches(self) -> SqliteBatches:
        """The batches that vendors have in hand."""
        return SqliteBatches(self._connection, path=self._path)

    @property
    def refusals(self) -> SqliteRefusals:
        """The texts that providers refused."""
        return SqliteRefusals(self._connection, path=self._path)

    def known(self) -> Mapping[tuple[SourceKind, str], Known]:
        """Return what is stored of each document, by source and path."""
        with translated(self._path):
            rows = map(known_of, self._connection.execute(KNOWN))
            return {(row.source, row.path): row for row in rows}

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reading inside see one state of the file."""
        return reading(self._connection)

    def known_of(self, path: str, *, source: SourceKind) -> Known | None:
        """Return what is stored of one document."""
        return self.inspection.known_of(path, source=source)

    def put(
        self, document: Document, chunks: Sequence[Chunk], *, recipe: str, over: Over = ...
    ) -> bool:
        """Store a document with its chunks in one transaction, in the place of `over`."""
        fields = [bag.field_terms(chunk) for chunk in chunks]
        with translated(self._path), writing(self._connection):
            if not self._delete(document.path, document.source, over):
                return False
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
        return True

    def _insert_chunk(self, owner: int, chunk: Chunk, fields: tuple[list[str], ...]) -> None:
        self._connection.execute(
            _INSERT_CHUNK,
            (
                owner,
                chunk.start_line,
                chunk.end_line,
                bytes.fromhex(chunk.digest),
                len(fields[0]),
                HEADING_JOINT.join(chunk.heading),
                chunk.prefix,
                bag.pack(fields),
                chunk.text,
                chunk.when.isoformat() if chunk.when else None,
                chunk.speaker,
                chunk.moment,
            ),
        )
        key = self._connection.last_insert_rowid()
        files.put(self._connection, key, chunk)
        facts.put(self._connection, key, chunk)
        self._connection.execute(INSERT_TERMS, (key, *(" ".join(words) for words in fields)))

    def touch(self, document: Document) -> None:
        """Remember a new stat of a document whose content did not change."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "UPDATE documents SET size_bytes = ?, mtime_ns = ?, is_settled = ? "
                "WHERE source = ? AND path = ? AND digest = ?",
                (
                    document.stat.size_bytes,
                    document.stat.mtime_ns,
                    int(document.is_settled),
                    document.source.value,
                    document.path,
                    document.digest,
                ),
            )

    def drop(self, path: str, *, source: SourceKind, over: Over = ...) -> bool:
        """Forget a document, unless another one than `over` is there; vectors stay."""
        with translated(self._path), writing(self._connection):
            return self._delete(path, source, over)

    def _delete(self, path: str, source: SourceKind, over: Over) -> bool:
        if over is not ... and over != self.known_of(path, source=source):
            return False
        self._connection.execute(
            "DELETE FROM documents WHERE source = ? AND path = ?", (source.value, path)
        )
        return True

    def missing(
        self, fingerprint: Fingerprint, *, limit: int, after: str = "", media: bool = False
    ) -> Sequence[Missing]:
        """Return texts or media without a vector, each once, in the order of digests."""
        with translated(self._path):
            space = spaces.id_of(self._connection, fingerprint)
            if media:
                return files.missing(self._connection, space=space, limit=limit, after=after)
            rows = self._connection.execute(_MISSING, (space, bytes.fromhex(after), limit))
            return [
                Missing(digest.hex(), f"{prefix}\n{text}" if prefix else text)
                for digest, prefix, text in rows
            ]

    def put_vectors(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors by the digest of their text, in one transaction."""
        with translated(self._path), writing(self._connection):
            spaces.put_vectors(
                self._connection,
                fingerprint,
                digests=digests,
                vectors=vectors,
                derived=self._engine,
            )

    def space(self, fingerprint: Fingerprint) -> Space | None:
        """Return what is known of a space; None when nothing of it is stored."""
        with translated(self._path):
            return spaces.describe(self._connection, fingerprint)

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Remember how unrelated texts are spread in a space."""
        with translated(self._path), writing(self._connection):
            spaces.put_background(self._connection, fingerprint, background)

    def published(self) -> Fingerprint | None:
        """Return the space that searches are served from."""
        with translated(self._path):
            return spaces.published(self._connection)

    def publish(self, fingerprint: Fingerprint) -> None:
        """Serve searches from this space from now on, in one transaction."""
        with translated(self._path), writing(self._connection):
            spaces.publish(self._connection, fingerprint)

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Drop vectors of other spaces and of texts that no chunk holds, if there are many."""
        kept = json.dumps([str(fingerprint) for fingerprint in keep])
        with translated(self._path):
            unused = spaces.count_unused(self._connection, kept=kept)
            stored = int(self._connection.execute("SELECT sum(vectors) FROM spaces").get or 0)
            if unused <= max(_FEW, _FEW_SHARE * stored):
                return 0
            with writing(self._connection):
                spaces.drop_unused(self._connection, kept=kept, derived=self._engine)
            return unused

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordPool:
        """Return up to `limit` chunks in scope that hold any of the terms."""
        with translated(self._path), reading(self._connection):
            return keyword_pool(self._connection, terms, scope=scope, limit=limit)

    def nearest(
        self, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope whose vectors are nearest, within one space only."""
        with translated(self._path), reading(self._connection):
            space = spaces.id_of(self._connection, fingerprint)
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
            space = spaces.id_of(self._connection, fingerprint)
            rows = list(self._connection.execute(_LOAD, (json.dumps(list(keys)), space)))
        width = next((len(row[-1]) // _FLOAT_BYTES for row in rows if row[-1] is not None), 0)
        vectors = np.zeros((len(rows), width), dtype=np.float32)
        has_vector = np.array([row[-1] is not None for row in rows], dtype=np.bool_)
        for place, row in enumerate(rows):
            if row[-1] is not None:
                vectors[place] = np.frombuffer(row[-1], dtype=np.float32)
        return Loaded(
            keys=tuple(ChunkKey(row[0]) for row in rows),
            chunks=tuple(chunk_of(row) for row in rows),
            counts=bag.count([row[-3] for row in rows], terms),
            lengths=np.array([row[-2] for row in rows], dtype=np.int64),
            vectors=vectors,
            has_vector=has_vector,
        )

    def status(self, fingerprint: Fingerprint | None, *, media: bool = False) -> StoreStatus:
        """Return sizes and counts."""
        with translated(self._path), reading(self._connection):
            by_source = {
                source: (documents, chunks)
                for source, documents, chunks in self._connection.execute(_BY_SOURCE)
            }
            space = spaces.id_of(self._connection, fingerprint)
            embedded = self._connection.execute(_EMBEDDED, (space,)).get
            excused = 0 if media else files.waiting(self._connection, space=space)
        chunks = sum(counts[1] for counts in by_source.values())
        return StoreStatus(
            location=str(self._path),
            size_bytes=sum(file.stat().st_size for file in files_of(self._path) if file.exists()),
            documents=sum(counts[0] for counts in by_source.values()),
            chunks=chunks,
            by_source=by_source,
            vectors=embedded,
            pending=chunks - embedded - excused if fingerprint else 0,
            engine=self._engine.name,
            is_writable=self._is_writable,
        )

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
