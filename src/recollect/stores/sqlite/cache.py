"""The embedding cache: vectors by space and text, shared by all agents of a home, bounded.

It survives a rebuilt index, a deleted one and a change of model and back. Everything in it can be
embedded again, so a damaged cache is thrown away and begun anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import StoreCorruptError
from recollect.reports import CacheStatus
from recollect.stores.sqlite.connect import alone, connect, files_of, translated, writing
from recollect.types import Background

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    import apsw

    from recollect.types import Fingerprint, Vector, Vectors

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spaces (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    mean REAL,
    deviation REAL
) STRICT;
CREATE TABLE IF NOT EXISTS vectors (
    space INTEGER NOT NULL REFERENCES spaces (id),
    digest BLOB NOT NULL,
    used_on INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (space, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used_on);
CREATE TABLE IF NOT EXISTS totals (vectors INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO totals SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM totals);
CREATE TRIGGER IF NOT EXISTS vector_added AFTER INSERT ON vectors BEGIN
    UPDATE totals SET vectors = vectors + 1, bytes = bytes + length(new.vector);
END;
CREATE TRIGGER IF NOT EXISTS vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE totals SET vectors = vectors - 1, bytes = bytes - length(old.vector);
END;
"""
_OPEN_SPACE = "INSERT OR IGNORE INTO spaces (fingerprint) VALUES (?)"
_SPACE = "SELECT id FROM spaces WHERE fingerprint = ?"
_GET = """
    SELECT v.digest, v.vector, v.used_on FROM json_each(?2) asked
    JOIN vectors v ON v.space = ?1 AND v.digest = unhex(asked.value)
"""
_TOUCH = """
    UPDATE vectors SET used_on = ?3
    WHERE space = ?1 AND digest IN (SELECT unhex(value) FROM json_each(?2))
"""
_PUT = "INSERT OR IGNORE INTO vectors (space, digest, used_on, vector) VALUES (?, ?, ?, ?)"
_OLDEST = """
    DELETE FROM vectors WHERE (space, digest) IN (
        SELECT space, digest FROM vectors ORDER BY used_on, space, digest LIMIT ?
    )
"""
_ROOM = 0.9  # trimming goes below the bound, so that it is not needed again at once


class SqliteVectorCache:
    """Vectors of one home. The file is opened, and made, when it is first needed.

    Every method raises StoreError where the file cannot be used.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._opened: apsw.Connection | None = None

    @property
    def _connection(self) -> apsw.Connection:
        if self._opened is None:
            self._opened = _connected(self._path)
        return self._opened

    def get(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], today: date
    ) -> dict[str, Vector]:
        """Return the vectors that are there, by digest, and remember that they were wanted."""
        day = today.toordinal()
        found: dict[str, Vector] = {}
        old: list[str] = []
        with translated(self._path):
            space = self._connection.execute(_SPACE, (str(fingerprint),)).get
            if space is None:
                return {}
            for digest, vector, used_on in self._connection.execute(
                _GET, (space, json.dumps(list(digests)))
            ):
                found[digest.hex()] = np.frombuffer(vector, dtype=np.float32)
                if used_on != day:
                    old.append(digest.hex())
            if old:
                with writing(self._connection):
                    self._connection.execute(_TOUCH, (space, json.dumps(old), day))
        return found

    def put(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors, today: date
    ) -> None:
        """Keep vectors, in one transaction."""
        day = today.toordinal()
        with translated(self._path), writing(self._connection):
            self._connection.execute(_OPEN_SPACE, (str(fingerprint),))
            space = self._connection.execute(_SPACE, (str(fingerprint),)).get
            self._connection.executemany(
                _PUT,
                [
                    (space, bytes.fromhex(digest), day, vector.astype(np.float32).tobytes())
                    for digest, vector in zip(digests, vectors, strict=True)
                ],
            )

    def background(self, fingerprint: Fingerprint) -> Background | None:
        """Return what was measured of a space."""
        with translated(self._path):
            row = self._connection.execute(
                "SELECT mean, deviation FROM spaces WHERE fingerprint = ?", (str(fingerprint),)
            ).fetchone()
        return None if row is None or row[0] is None else Background(row[0], row[1])

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Keep what was measured of a space."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(_OPEN_SPACE, (str(fingerprint),))
            self._connection.execute(
                "UPDATE spaces SET mean = ?, deviation = ? WHERE fingerprint = ?",
                (background.mean, background.deviation, str(fingerprint)),
            )

    def status(self) -> CacheStatus | None:
        """Return how full it is; None where nothing was ever kept."""
        if not self._path.is_file():
            return None
        with translated(self._path):
            vectors, held = self._totals()
            return CacheStatus(
                location=str(self._path),
                vectors=vectors,
                size_bytes=held,
                max_bytes=self._max_bytes,
            )

    def trim(self) -> int:
        """Drop the vectors unused for longest until the rest fits; return how many."""
        with translated(self._path):
            vectors, held = self._totals()
            if held <= self._max_bytes:
                return 0
            # Vectors of different lengths mix; dropping by the average converges from above.
            surplus = held - _ROOM * self._max_bytes
            count = min(max(int(surplus / (held / vectors)), 1), vectors)
            with writing(self._connection):
                self._connection.execute(_OLDEST, (count,))
            self._give_room_back()
        return count + self.trim()

    def prune(self, *, unused_since: date | None) -> int:
        """Drop vectors that nobody asked for since a day, or all of them; return how many."""
        if not self._path.is_file():
            return 0
        with translated(self._path):
            before, _ = self._totals()
            with writing(self._connection):
                if unused_since is None:
                    self._connection.execute("DELETE FROM vectors")
                else:
                    self._connection.execute(
                        "DELETE FROM vectors WHERE used_on < ?", (unused_since.toordinal(),)
                    )
            after, _ = self._totals()
            self._give_room_back()
        return before - after

    def close(self) -> None:
        """Release the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _totals(self) -> tuple[int, int]:
        row = self._connection.execute("SELECT vectors, bytes FROM totals").fetchone()
        assert row is not None  # noqa: S101 - the schema writes it
        return int(row[0]), int(row[1])

    def _give_room_back(self) -> None:
        for _ in self._connection.execute("PRAGMA incremental_vacuum"):
            pass


def _connected(path: Path) -> apsw.Connection:
    """Open or create the file; a damaged one, or one of another version, is begun anew."""
    try:
        return _begun(path)
    except StoreCorruptError:
        return _begun_anew(path)


def _begun_anew(path: Path) -> apsw.Connection:
    """Delete a damaged file, unless another process has done so and begun it anew already."""
    with translated(path), alone(path):
        try:
            return _begun(path)
        except StoreCorruptError:
            for file in files_of(path):
                file.unlink(missing_ok=True)
            return _begun(path)


def _begun(path: Path) -> apsw.Connection:
    connection = connect(path, writable=True)
    try:
        with translated(path):
            _bring_tables(connection, path=path)
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_tables(connection: apsw.Connection, *, path: Path) -> None:
    version = connection.pragma("user_version")
    if version not in (0, _VERSION):
        raise StoreCorruptError(
            f"The cache {path} is of version {version}.", action="It is begun anew."
        )
    if version == 0:
        # So that dropped vectors give their room back; only an empty file can be told.
        connection.pragma("auto_vacuum", 2)
        connection.execute("VACUUM")
        with writing(connection):
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
