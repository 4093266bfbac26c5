"""Takes rows out of one file into another: the sound ones of a damaged file, or all of them.

Vectors cost money or minutes, and open batches are paid for; everything else is read from the
user's files again. Only a file with page checksums can tell which of its rows are sound.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import apsw

from recollect.errors import StoreError
from recollect.stores.sqlite import pages, schema
from recollect.stores.sqlite.connect import alone, connect, files_of, writing
from recollect.stores.sqlite.rows import (
    FLOAT_BYTES,
    TEXT_BITS,
    RowError,
    digests_of,
    text_in,
    text_of,
)
from recollect.stores.sqlite.vectors import COUNT_VECTORS, fingerprint_of, space_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.stores.sqlite.vectors import Engine

    Row = tuple[object, ...]


def _check_meta(key: object, value: object) -> None:
    text_of(key)
    text_of(value)


def _check_batch(fingerprint: object, name: object, digests: object) -> None:
    fingerprint_of(fingerprint)
    text_of(name)
    digests_of(digests)


_SMALL_TABLES: dict[str, tuple[str, Callable[..., object]]] = {
    "meta": ("key, value", _check_meta),
    "batches": ("fingerprint, name, digests", _check_batch),
    "spaces": (
        "id, fingerprint, dimensions, mean, deviation, is_published",
        lambda _, fingerprint, *space: (fingerprint_of(fingerprint), space_of(*space)),
    ),
}
_VECTORS = f"""
    SELECT v.id, v.vector, s.id, t.id, t.digest FROM vectors v
    CROSS JOIN spaces s ON s.id = v.id >> {TEXT_BITS}
    CROSS JOIN texts t ON t.id = {text_in("v.id")}
    WHERE v.id >= ? AND v.tail = 127 AND length(v.vector) = s.dimensions * {FLOAT_BYTES}
        AND typeof(v.vector) = 'blob' AND typeof(t.digest) = 'blob'  -- not of another table
    ORDER BY v.id
"""  # noqa: S608 - our own names and numbers
_PUT_TEXT = "INSERT OR IGNORE INTO texts (id, digest) VALUES (?, ?)"
_PUT_VECTOR = """
    INSERT OR IGNORE INTO vectors (id, vector)
    SELECT ?, ? WHERE EXISTS (SELECT 1 FROM texts WHERE id = ? AND digest = ?)
"""
_WORDS = f"""
    SELECT w.id, w.codes FROM word_codes w
    CROSS JOIN spaces s ON s.id = w.id >> {TEXT_BITS}
    WHERE w.id >= ? AND w.tail = 127 AND typeof(w.codes) = 'blob'
        AND length(w.codes) > 0 AND length(w.codes) % ((s.dimensions + 7) / 8) = 0
    ORDER BY w.id
"""  # noqa: S608 - our own names and numbers
_PUT_WORDS = """
    INSERT OR IGNORE INTO word_codes (id, codes)
    SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM vectors WHERE id = ?1)
"""
_MAX_ID = 2**62
_TABLES = """
    SELECT name FROM main.sqlite_schema
    WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
    ORDER BY name = 'totals'  -- which a trigger counts while chunks are copied
"""


def salvage(damaged: Path, connection: apsw.Connection, *, engine: Engine) -> int:
    """Copy the sound vectors and batches of a damaged file; return how many vectors.

    Runs inside the caller's transaction.
    """
    try:
        old = connect(damaged, writable=True)
    except StoreError:
        return 0
    with contextlib.closing(old):
        try:
            can_tell = pages.are_available() and pages.check(old, path=damaged)
            is_current = schema.version_of(old) == schema.version_of(connection)
        except (StoreError, apsw.Error):
            return 0
        if not can_tell or not is_current:
            return 0
        for table, (columns, check) in _SMALL_TABLES.items():
            marks = ", ".join("?" for _ in columns.split(","))
            connection.executemany(
                f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})",  # noqa: S608
                list(_sound(old, f"SELECT {columns} FROM {table}", check=check)),  # noqa: S608
            )
        spaces = {space for (space,) in connection.execute("SELECT id FROM spaces")}
        count = 0
        for key, vector, space, text, digest in _sound_rows(old, _VECTORS):
            if space in spaces:
                connection.execute(_PUT_TEXT, (text, digest))
                connection.execute(_PUT_VECTOR, (key, vector, text, digest))
                count += connection.changes()
        for row in _sound_rows(old, _WORDS):
            connection.execute(_PUT_WORDS, row)
    connection.execute(COUNT_VECTORS)
    for space in spaces:
        engine.rebuild(connection, space=space)
    return count


def _sound(old: apsw.Connection, sql: str, *, check: Callable[..., object]) -> Iterator[Row]:
    """Yield the rows that can be read, up to the first damaged page."""
    with contextlib.suppress(apsw.IOError, apsw.CorruptError, UnicodeDecodeError):
        for row in old.execute(sql):
            with contextlib.suppress(RowError):
                check(*row)
                yield row


def _sound_rows(old: apsw.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """Yield all rows outside damaged pages, in the order of their ids."""
    start, step = 0, 1
    while start < _MAX_ID:
        try:
            for row in old.execute(sql, (start,)):
                yield row
                start, step = row[0] + 1, 1
        except (apsw.IOError, apsw.CorruptError):
            # How many rows the page has cannot be known: farther each time, until one is read.
            start += step
            step *= 2
        else:
            return


def copied(connection: apsw.Connection, path: Path) -> apsw.Connection:
    """Copy a file into one that has page checksums as this process writes them, in its place.

    A file that another process uses is left as it is, and so is one that has no room beside it.
    """
    fresh = path.with_name(f"{path.name}.copy")
    with alone(path):
        try:
            if connection.pragma("journal_mode", "delete") != "delete":
                return connection
        except apsw.BusyError:
            return connection
        connection.close()
        try:
            _remove(fresh)
            _copy(path, fresh)
            fresh.replace(path)
        except (apsw.FullError, OSError):
            _remove(fresh)
        return connect(path, writable=True)


def _copy(path: Path, fresh: Path) -> None:
    connection = connect(fresh, writable=True)
    with contextlib.closing(connection):
        schema.migrate(connection, path=fresh)
        connection.pragma("foreign_keys", False)  # rows come table by table
        connection.execute("ATTACH ? AS old", (str(path),))
        with writing(connection):
            for (table,) in list(connection.execute(_TABLES)):
                connection.execute(
                    f"DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM old.{table}"  # noqa: S608
                )
    if files_of(fresh)[1].exists():  # closing moves the log into the file, or tells nobody
        raise OSError(f"The log of {fresh} could not be moved into it.")


def _remove(path: Path) -> None:
    for file in files_of(path):
        file.unlink(missing_ok=True)
