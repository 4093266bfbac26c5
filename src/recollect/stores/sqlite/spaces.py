"""The vector spaces in the file: what each holds, which one is served, what may be dropped.

Every function runs inside its caller's transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from recollect.stores.base import Space
from recollect.stores.vectors import check_vectors
from recollect.types import Background, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from recollect.types import Vectors

_SPACE = "SELECT id, dimensions, mean, deviation, is_published FROM spaces WHERE fingerprint = ?"
_OPEN = "INSERT OR IGNORE INTO spaces (fingerprint, dimensions) VALUES (?, ?)"
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


class Derived(Protocol):
    """What an engine keeps beside the vectors."""

    def added(self, connection: apsw.Connection, *, space: int, ids: Sequence[int]) -> None:
        """Keep it in step with vectors just stored."""

    def removed(self, connection: apsw.Connection, *, space: int) -> None:
        """Keep it in step with vectors just dropped."""


def id_of(connection: apsw.Connection, fingerprint: Fingerprint | None) -> int | None:
    """Return the file's own number of a space; None when it holds nothing of it."""
    found = connection.execute(
        "SELECT id FROM spaces WHERE fingerprint = ?", (str(fingerprint),)
    ).get
    return None if found is None else int(found)


def describe(connection: apsw.Connection, fingerprint: Fingerprint) -> Space | None:
    """Return what is known of a space."""
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    if row is None:
        return None
    _, dimensions, mean, deviation, is_published = row
    return Space(
        dimensions=dimensions,
        background=None if mean is None else Background(mean, deviation),
        is_published=bool(is_published),
    )


def published(connection: apsw.Connection) -> Fingerprint | None:
    """Return the space that searches are served from, once one was complete."""
    found = connection.execute("SELECT fingerprint FROM spaces WHERE is_published").get
    return None if found is None else Fingerprint.parse(str(found))


def publish(connection: apsw.Connection, fingerprint: Fingerprint) -> None:
    """Serve searches from this space from now on."""
    _open(connection, fingerprint)
    connection.execute("UPDATE spaces SET is_published = (fingerprint = ?)", (str(fingerprint),))


def put_background(
    connection: apsw.Connection, fingerprint: Fingerprint, background: Background
) -> None:
    """Remember how unrelated texts are spread in a space."""
    _open(connection, fingerprint)
    connection.execute(
        "UPDATE spaces SET mean = ?, deviation = ? WHERE fingerprint = ?",
        (background.mean, background.deviation, str(fingerprint)),
    )


def put_vectors(
    connection: apsw.Connection,
    fingerprint: Fingerprint,
    *,
    digests: Sequence[str],
    vectors: Vectors,
    derived: Derived,
) -> None:
    """Store vectors by the digest of their text; the first ones fix the space's dimensions."""
    space, dimensions = _open(connection, fingerprint)
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
    connection.execute("UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (len(ids), space))
    derived.added(connection, space=space, ids=ids)


def count_unused(connection: apsw.Connection, *, kept: str) -> int:
    """Return how many vectors belong to no chunk, or to no space in the JSON list `kept`."""
    return int(connection.execute(_UNUSED, (kept,)).get)


def drop_unused(connection: apsw.Connection, *, kept: str, derived: Derived) -> None:
    """Drop vectors that belong to no chunk, and spaces that are not in the JSON list `kept`."""
    for (space,) in list(connection.execute(_OTHERS, (kept,))):
        connection.execute("DELETE FROM codes WHERE space = ?", (space,))
        connection.execute("DELETE FROM vectors WHERE space = ?", (space,))
        connection.execute("DELETE FROM spaces WHERE id = ?", (space,))
    connection.execute(_DROP_UNUSED)
    connection.execute(_COUNT)
    for (space,) in list(connection.execute("SELECT id FROM spaces")):
        derived.removed(connection, space=space)


def _open(connection: apsw.Connection, fingerprint: Fingerprint) -> tuple[int, int]:
    """Return the space's number and dimensions, making a row for it; 0 is not known yet."""
    connection.execute(_OPEN, (str(fingerprint), fingerprint.dimensions or 0))
    row = connection.execute(_SPACE, (str(fingerprint),)).fetchone()
    assert row is not None  # noqa: S101 - inserted above
    return int(row[0]), int(row[1])
