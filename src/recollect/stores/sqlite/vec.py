"""Finds chunks by vector in SQL, with the sqlite-vec extension: exact, simple, slower.

For people who want cosine inside SQLite. It uses the vectors table and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.stores.base import VectorPool
from recollect.stores.sqlite.rows import scope_sql
from recollect.stores.sqlite.scan import forget_codes
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from recollect.types import Scope, Vector

_NEAREST = """
    SELECT c.id, 1 - vec_distance_cosine(v.vector, ?) AS cosine FROM chunks c
    JOIN documents d ON d.id = c.document
    JOIN vectors v ON v.space = ? AND v.digest = c.digest
    WHERE {condition} ORDER BY cosine DESC, c.id LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class SqliteVec:
    """The vector engine that computes cosines in SQL."""

    name: str = "sqlite-vec"

    def prepare(self, connection: apsw.Connection) -> None:
        """Load the extension.

        Raises:
            StoreError: it is not installed or does not load.

        """
        try:
            import sqlite_vec  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise StoreError(
                'vector.engine = "sqlite-vec" is set, but sqlite-vec is not installed.',
                action="Install it with `pip install '.[vec]'`, or remove the setting.",
            ) from error
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""
        condition, bindings = scope_sql(scope)
        rows = list(
            connection.execute(
                _NEAREST.format(condition=condition), (vector.tobytes(), space, *bindings, limit)
            )
        )
        return VectorPool(
            keys=tuple(ChunkKey(row[0]) for row in rows), cosines=tuple(row[1] for row in rows)
        )

    def added(self, connection: apsw.Connection, *, space: int, ids: Sequence[int]) -> None:
        """Drop the other engine's codes, which would miss the new vectors."""
        del ids
        forget_codes(connection, space=space)

    def removed(self, connection: apsw.Connection, *, space: int) -> None:
        """Drop the other engine's codes, which would name deleted vectors."""
        forget_codes(connection, space=space)
