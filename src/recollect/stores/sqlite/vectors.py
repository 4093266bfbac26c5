"""Vectors in the file: spaces, missing texts, and which space searches use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recollect.stores.base import Missing, Space, VectorPool
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.vectors import check_vectors
from recollect.types import Background, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import apsw

    from recollect.types import Scope, Vector, Vectors

_SPACE = "SELECT id, dimensions, mean, deviation, is_published FROM spaces WHERE fingerprint = ?"
_ADD_SPACE = "INSERT OR IGNORE INTO spaces (fingerprint, dimensions) VALUES (?, ?)"
_MISSING = """
    SELECT digest, prefix, text FROM chunks WHERE id IN (
        -- Walks the digest index alone: texts are read only for the rows returned.
        SELECT min(c.id) FROM chunks c
        WHERE c.digest > ?2 AND c.id NOT IN (SELECT chunk FROM media)
          AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ?1 AND v.digest = c.digest)
        GROUP BY c.digest ORDER BY c.digest LIMIT ?3
    ) ORDER BY digest
"""
_MISSING_MEDIA = """
    SELECT c.digest, c.prefix, c.text, d.path, d.size_bytes FROM chunks c
    JOIN documents d ON d.id = c.document
    WHERE c.id IN (
        SELECT min(c.id) FROM media m JOIN chunks c ON c.id = m.chunk
        WHERE c.digest > ?2
          AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ?1 AND v.digest = c.digest)
        GROUP BY c.digest ORDER BY c.digest LIMIT ?3
    ) ORDER BY c.digest
"""
_PUT = """
    INSERT INTO vectors (space, digest, vector) VALUES (?, ?, ?)
    ON CONFLICT DO NOTHING RETURNING id
"""
_UNUSED = """
    SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space
    WHERE s.fingerprint NOT IN (SELECT value FROM json_each(?1))
       OR NOT EXISTS (SELECT 1 FROM chunks c WHERE c.digest = v.digest)
"""
_OTHERS = "SELECT id FROM spaces WHERE fingerprint NOT IN (SELECT value FROM json_each(?))"
_DROP_UNUSED = "DELETE FROM vectors WHERE digest NOT IN (SELECT digest FROM chunks)"
_COUNT = "UPDATE spaces SET vectors = (SELECT count(*) FROM vectors v WHERE v.space = spaces.id)"
_FEW = 256  # unused vectors that may stay
_FEW_SHARE = 0.1  # or this share of all vectors


class Engine(Protocol):
    """A way to search vectors inside the file. Called within the store's transactions."""

    @property
    def name(self) -> str:
        """The name shown in status."""

    def prepare(self, connection: apsw.Connection) -> None:
        """Load what the engine needs into a new connection."""

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""

    def added(self, connection: apsw.Connection, *, space: int, ids: Sequence[int]) -> None:
        """Update what the engine derives from vectors after some were stored."""

    def removed(self, connection: apsw.Connection, *, space: int) -> None:
        """Update what the engine derives from vectors after some were deleted."""


class SqliteVectors(SqliteFile):
    """The VectorIndex role."""

    def __init__(self, connection: apsw.Connection, *, path: Path, engine: Engine) -> None:
        super().__init__(connection, path=path)
        self._engine = engine

    def missing(
        self, fingerprint: Fingerprint, *, limit: int, after: str = "", media: bool = False
    ) -> Sequence[Missing]:
        """Return texts, or media files, without a vector, each once, ordered by digest."""
        with self._reading() as connection:
            bindings = (space_id(connection, fingerprint), bytes.fromhex(after), limit)
            rows = connection.execute(_MISSING_MEDIA if media else _MISSING, bindings)
            return [
                Missing(digest.hex(), f"{prefix}\n{text}" if prefix else text, *file)
                for digest, prefix, text, *file in rows
            ]

    def put_vectors(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors by the digest of their text; the first ones fix the dimensions."""
        with self._writing() as connection:
            space, dimensions = _add_space(connection, fingerprint)
            check_vectors(vectors, count=len(digests), dimensions=dimensions or vectors.shape[-1])
            if not len(digests):
                return
            if not dimensions:
                connection.execute(
                    "UPDATE spaces SET dimensions = ? WHERE id = ?", (vectors.shape[-1], space)
                )
            ids = [
                row[0]
                for digest, vector in zip(digests, vectors, strict=True)
                for row in connection.execute(
                    _PUT, (space, bytes.fromhex(digest), vector.astype(np.float32).tobytes())
                )
            ]
            connection.execute(
                "UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (len(ids), space)
            )
            self._engine.added(connection, space=space, ids=ids)

    def space(self, fingerprint: Fingerprint) -> Space | None:
        """Describe a space; None if nothing of it is stored."""
        with self._reading() as connection:
            row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
        if row is None:
            return None
        _, dimensions, mean, deviation, is_published = row
        return Space(
            dimensions=dimensions,
            background=None if mean is None else Background(mean, deviation),
            is_published=bool(is_published),
        )

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Store how the cosines of unrelated texts are distributed in a space."""
        with self._writing() as connection:
            _add_space(connection, fingerprint)
            connection.execute(
                "UPDATE spaces SET mean = ?, deviation = ? WHERE fingerprint = ?",
                (background.mean, background.deviation, str(fingerprint)),
            )

    def published(self) -> Fingerprint | None:
        """Return the space that searches use."""
        with self._reading() as connection:
            found = connection.execute("SELECT fingerprint FROM spaces WHERE is_published").get
        return None if found is None else Fingerprint.parse(str(found))

    def publish(self, fingerprint: Fingerprint) -> None:
        """Make searches use this space, in one transaction."""
        with self._writing() as connection:
            _add_space(connection, fingerprint)
            connection.execute(
                "UPDATE spaces SET is_published = (fingerprint = ?)", (str(fingerprint),)
            )

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Delete vectors of other spaces and of texts that no chunk has, if there are many."""
        kept = json.dumps([str(fingerprint) for fingerprint in keep])
        with self._reading() as connection:
            unused = int(connection.execute(_UNUSED, (kept,)).get)
            stored = int(connection.execute("SELECT sum(vectors) FROM spaces").get or 0)
        if unused <= max(_FEW, _FEW_SHARE * stored):
            return 0
        with self._writing() as connection:
            for (space,) in list(connection.execute(_OTHERS, (kept,))):
                connection.execute("DELETE FROM codes WHERE space = ?", (space,))
                connection.execute("DELETE FROM vectors WHERE space = ?", (space,))
                connection.execute("DELETE FROM spaces WHERE id = ?", (space,))
            connection.execute(_DROP_UNUSED)
            connection.execute(_COUNT)
            for (space,) in list(connection.execute("SELECT id FROM spaces")):
                self._engine.removed(connection, space=space)
        return unused

    def nearest(
        self, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope whose vectors in this space are nearest."""
        with self._reading() as connection:
            space = space_id(connection, fingerprint)
            if space is None:
                return VectorPool((), ())
            return self._engine.nearest(
                connection, space=space, vector=vector, scope=scope, limit=limit
            )


def space_id(connection: apsw.Connection, fingerprint: Fingerprint | None) -> int | None:
    """Return the file's number of a space; None if nothing of it is stored."""
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    return None if row is None else int(row[0])


def _add_space(connection: apsw.Connection, fingerprint: Fingerprint) -> tuple[int, int]:
    """Return the number and the dimensions of a space, adding it if needed; 0 is unknown."""
    connection.execute(_ADD_SPACE, (str(fingerprint), fingerprint.dimensions or 0))
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    assert row is not None  # noqa: S101 - inserted above
    return int(row[0]), int(row[1])
