"""Finds chunks by vector in SQL, with the sqlite-vec extension: exact, simple, slower.

For people who want cosine inside SQLite. It uses the vectors table and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from recollect.records import dataclass
from recollect.stores.base import VectorPool
from recollect.stores.sqlite.rows import check_tails, vector_id
from recollect.stores.sqlite.scan import NumpyScan
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from recollect.stores.sqlite.filters import Filter
    from recollect.stores.sqlite.vectors import Engine
    from recollect.types import Vector

_NAME = "sqlite-vec"
_NEAREST = f"""
    SELECT c.id, 1 - vec_distance_cosine(v.vector, ?) AS cosine, v.tail FROM chunks c
    JOIN vectors v ON v.id = {vector_id("?", "c.text_id")}
    WHERE {{condition}} ORDER BY cosine DESC, c.id LIMIT ?
"""  # noqa: S608 - our own column names


class EngineMissingError(Exception):
    """The extension is not installed or does not load."""


def usable_engine(name: str) -> tuple[Engine, tuple[str, ...]]:
    """Return the named engine, or the default one with a notice if it cannot be used here."""
    if name != _NAME:
        return NumpyScan(), ()
    try:
        SqliteVec().prepare(apsw.Connection(":memory:"))
    except EngineMissingError as error:
        notice = (
            f'vector.engine is "sqlite-vec", but sqlite-vec cannot be loaded ({error}): numpy '
            "compares the vectors instead. Run `pip install sqlite-vec`, or remove the setting."
        )
        return NumpyScan(), (notice,)
    return SqliteVec(), ()


@dataclass(frozen=True, slots=True)
class SqliteVec:
    """The vector engine that computes cosines in SQL."""

    name: str = _NAME

    def prepare(self, connection: apsw.Connection) -> None:
        """Load the extension.

        Raises:
            EngineMissingError: it is not installed or does not load.

        """
        try:
            import sqlite_vec  # noqa: PLC0415 - an optional dependency

            connection.enable_load_extension(True)
            try:
                connection.load_extension(sqlite_vec.loadable_path())
            finally:
                connection.enable_load_extension(False)  # no SQL may load another one
        except (ImportError, AttributeError, OSError, apsw.Error) as error:
            raise EngineMissingError(str(error)) from error

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, seen: Filter, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""
        condition, bindings = seen.condition()
        rows = list(
            connection.execute(
                _NEAREST.format(condition=condition), (vector.tobytes(), space, *bindings, limit)
            )
        )
        check_tails(row[2] for row in rows)
        return VectorPool(
            keys=tuple(ChunkKey(row[0]) for row in rows), cosines=tuple(row[1] for row in rows)
        )
