"""The vector cache of a home in one SQLite file, shared by all its agents and limited in size.

Everything in it can be embedded again, so a damaged cache is deleted and starts over.
"""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np

from recollect.errors import StoreCorruptError, StoreReadOnlyError
from recollect.reports import CacheStatus
from recollect.stores.sqlite import pages
from recollect.stores.sqlite.connect import (
    SqliteFile,
    alone,
    connect,
    files_of,
    translated,
    writing,
)
from recollect.stores.sqlite.rows import FLOAT_BYTES, RowError, stack
from recollect.types import Background

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    import apsw

    from recollect.types import Fingerprint, Vector, Vectors

P = ParamSpec("P")
Answer = TypeVar("Answer")

_VERSION = 3
_SCHEMA = """
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    mean REAL,
    deviation REAL
) STRICT;
CREATE TABLE vectors (
    space INTEGER NOT NULL REFERENCES spaces (id),
    digest BLOB NOT NULL,
    used_on INTEGER NOT NULL,
    vector BLOB NOT NULL,
    words BLOB NOT NULL,
    PRIMARY KEY (space, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_by_use ON vectors (used_on);
CREATE TABLE totals (vectors INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE totals SET vectors = vectors + 1,
        bytes = bytes + length(new.vector) + length(new.words);
END;
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE totals SET vectors = vectors - 1,
        bytes = bytes - length(old.vector) - length(old.words);
END;
"""
_ADD_SPACE = "INSERT OR IGNORE INTO spaces (fingerprint) VALUES (?)"
_SPACE = "SELECT id FROM spaces WHERE fingerprint = ?"
_GET = """
    SELECT v.digest, v.vector, v.words, v.used_on FROM json_each(?2) asked
    JOIN vectors v ON v.space = ?1 AND v.digest = unhex(asked.value)
"""
_TOUCH = """
    UPDATE vectors SET used_on = ?3
    WHERE space = ?1 AND digest IN (SELECT unhex(value) FROM json_each(?2))
"""
_PUT = """
    INSERT OR IGNORE INTO vectors (space, digest, used_on, vector, words) VALUES (?, ?, ?, ?, ?)
"""
_DROP_OLDEST = """
    DELETE FROM vectors WHERE (space, digest) IN (
        SELECT space, digest FROM vectors ORDER BY used_on, space, digest LIMIT ?
    )
"""
_ROOM = 0.9  # trim below the limit, so that the next vector does not trim again


def _starts_over(
    method: Callable[Concatenate[VectorCache, P], Answer],
) -> Callable[Concatenate[VectorCache, P], Answer]:
    """Return the method wrapped so that a damaged cache is deleted, and the method called again."""

    @wraps(method)
    def on_sound_file(self: VectorCache, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            return method(self, *args, **kwargs)
        except StoreCorruptError:
            self.delete()
            return method(self, *args, **kwargs)

    return on_sound_file


class VectorCache(SqliteFile):
    """The cache of one home: vectors by space and text digest.

    Every method raises StoreError if the cache cannot be used.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        super().__init__(path)
        self._max_bytes = max_bytes

    @_starts_over
    def get(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], today: date
    ) -> dict[str, tuple[Vector, bytes]]:
        """Return the cached vectors and word codes by digest, and record that they were used."""
        day = today.toordinal()
        with self._reading() as connection:
            space = connection.execute(_SPACE, (str(fingerprint),)).get
            rows = list(connection.execute(_GET, (space, json.dumps(list(digests)))))
            width = len(rows[0][1]) // FLOAT_BYTES if rows else 0
            vectors = stack([row[1] for row in rows], dimensions=width)
        old = [digest.hex() for digest, _, _, used_on in rows if used_on != day]
        if old and not connection.readonly("main"):
            with self._writing() as connection:
                connection.execute(_TOUCH, (space, json.dumps(old), day))
        return {row[0].hex(): (vector, row[2]) for row, vector in zip(rows, vectors, strict=True)}

    @_starts_over
    def put(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        today: date,
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Cache vectors and word codes, in one step; those that are there stay."""
        day = today.toordinal()
        coded = words or [b""] * len(digests)
        with self._writing() as connection:
            connection.execute(_ADD_SPACE, (str(fingerprint),))
            space = connection.execute(_SPACE, (str(fingerprint),)).get
            connection.executemany(
                _PUT,
                [
                    (space, bytes.fromhex(digest), day, vector.astype(np.float32).tobytes(), codes)
                    for digest, vector, codes in zip(digests, vectors, coded, strict=True)
                ],
            )

    @_starts_over
    def background(self, fingerprint: Fingerprint) -> Background | None:
        """Return the measured background of a space."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT mean, deviation FROM spaces WHERE fingerprint = ?", (str(fingerprint),)
            ).fetchone()
            if row is None or row[0] is None:
                return None
            return Background(*row)

    @_starts_over
    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Cache the measured background of a space."""
        with self._writing() as connection:
            connection.execute(_ADD_SPACE, (str(fingerprint),))
            connection.execute(
                "UPDATE spaces SET mean = ?, deviation = ? WHERE fingerprint = ?",
                (background.mean, background.deviation, str(fingerprint)),
            )

    @_starts_over
    def status(self) -> CacheStatus | None:
        """Return how full the cache is; None if it was never used."""
        if not self._path.is_file():
            return None
        vectors, size_bytes = self._totals()
        return CacheStatus(
            location=str(self._path),
            vectors=vectors,
            size_bytes=size_bytes,
            max_bytes=self._max_bytes,
        )

    @_starts_over
    def trim(self) -> int:
        """Delete the vectors unused for longest until the rest fits; return how many."""
        vectors, size_bytes = self._totals()
        if size_bytes <= self._max_bytes:
            return 0
        # Vectors differ in length: dropping by the average converges from above.
        surplus = size_bytes - _ROOM * self._max_bytes
        count = min(max(int(surplus / (size_bytes / vectors)), 1), vectors)
        with self._writing() as connection:
            connection.execute(_DROP_OLDEST, (count,))
        with translated(self._path):  # gives the space back to the file system
            for _ in self._connection.execute("PRAGMA incremental_vacuum"):
                pass
        return count + self.trim()

    def _totals(self) -> tuple[int, int]:
        with self._reading() as connection:
            row = connection.execute("SELECT vectors, bytes FROM totals").fetchone()
            if row is None:
                raise RowError("the totals are missing")
            return row[0], row[1]

    def _open(self) -> apsw.Connection:
        """Open the file, only to be read on a read-only disk; replace a damaged or older one."""
        try:
            return _connected(self._path)
        except StoreReadOnlyError:
            if not self._path.is_file():
                raise
            return _connected(self._path, writable=False)
        except StoreCorruptError:
            with translated(self._path), alone(self._path):
                try:
                    return _connected(self._path)  # another process may have replaced it already
                except StoreCorruptError:
                    self._unlink()
                    return _connected(self._path)

    def delete(self) -> None:
        """Delete a damaged file; the next use starts over."""
        self.close()
        with translated(self._path), alone(self._path):
            self._unlink()

    def _unlink(self) -> None:
        for file in files_of(self._path):
            file.unlink(missing_ok=True)


def _connected(path: Path, *, writable: bool = True) -> apsw.Connection:
    connection = connect(path, writable=writable)
    try:
        with translated(path):
            pages.check(connection, path=path)
            _create_tables(connection, path=path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_tables(connection: apsw.Connection, *, path: Path) -> None:
    version = connection.pragma("user_version")
    if version not in (0, _VERSION):
        raise StoreCorruptError(
            f"The cache {path} is of version {version}.", action="It is replaced."
        )
    if version == 0:
        # Lets deleted vectors give their space back; only an empty file accepts it.
        connection.pragma("auto_vacuum", 2)
        connection.execute("VACUUM")
        with writing(connection):
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
