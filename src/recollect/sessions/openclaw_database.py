"""Reads the conversations that OpenClaw keeps in an agent's database, since version 2026.8.

Each row is what was a line of a transcript before. OpenClaw may be running: opened read-only, the
file is not locked while it has no log of pending writes, and a reader of that log makes nobody
wait. A schema that this module does not know is refused, never guessed at.

Threat: a small database never ends (pages that name each other), or makes values of any size.
Steps, memory, values and what is returned are limited, and no temporary file is made.
"""

from __future__ import annotations

from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from recollect.records import dataclass
from recollect.reports import Failure
from recollect.sessions.openclaw import inherited_exclusion
from recollect.sessions.rows import MAX_BYTES, MAX_LINE_BYTES, row_of, string, unpack
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import apsw

    Outcome = TypeVar("Outcome")

DATABASE_NAME = "openclaw-agent.sqlite"
"""Name of the database in `agents/<agent>/agent/` below OpenClaw's folder."""
SCHEMAS = range(19, 24)
"""Versions of the schema that this module reads: OpenClaw 2026.8.1 to 2026.9.6."""
FORGOTTEN = "was forgotten in OpenClaw"

_LOG = "-wal"
_ROWS = "transcript_events"
_PACKED = "event_zstd"
"""Column of compressed rows, since schema 22."""
_NEEDED = {
    _ROWS: {"session_id", "seq", "event_json", "created_at"},
    "session_windows": {"session_id", "session_key", "transcript_updated_at"},
    "session_nodes": {"session_key", "parent_session_key", "spawned_by"},
    "memory_session_tombstones": {"session_id"},
}
_MAX_ROW_BYTES = 4 * 1024 * 1024
"""OpenClaw's own limit for a compressed row."""
_PATIENCE_MS = 2000
"""How long to wait while OpenClaw recovers or closes its log."""
_ATTEMPTS = 3
_STEPS_PER_LOOK = 100  # instructions of SQLite, each of which may keep a value
_MOST_LOOKS = 2_000_000  # a million rows take a tenth of them
_ROW_BYTES = 500  # what is kept of a row besides its texts
_NS_PER_MS = 1_000_000

_BYTES = "octet_length(event_json)"
_BYTES_PACKED = f"coalesce(event_utf8_bytes, {_BYTES})"
_LIST = """
    SELECT w.session_id, w.session_key, e.size, max(e.at, coalesce(w.transcript_updated_at, 0)),
           (SELECT event_json FROM transcript_events
            WHERE session_id = w.session_id ORDER BY seq LIMIT 1),
           w.session_id IN (SELECT session_id FROM memory_session_tombstones)
    FROM session_windows w
    JOIN (SELECT session_id, sum({size} + 1) AS size, max(created_at) AS at
          FROM transcript_events GROUP BY session_id) e USING (session_id)
"""
_COLUMNS = """
    SELECT c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
    WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ?
"""
_PARENTS = "SELECT session_key, parent_session_key, spawned_by FROM session_nodes"
_READ = "SELECT event_json, {packed} FROM transcript_events WHERE session_id = ? ORDER BY seq"


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A conversation in a database."""

    id: str
    stat: Stat
    """Size as a transcript of lines, and when it last changed."""
    cwd: str | None
    """Working folder of the conversation; None if it does not say."""
    excluded: str
    """Why it is excluded; empty if it is not."""


def is_database_name(name: str) -> bool:
    """Return whether this is the name of an OpenClaw agent's database."""
    return name == DATABASE_NAME


def is_database_file(path: str) -> bool:
    """Return whether OpenClaw writes conversations to this file: a database, or its log."""
    return path.endswith((DATABASE_NAME, f"{DATABASE_NAME}{_LOG}"))


def list_sessions(file: Path) -> list[StoredSession] | Failure:
    """Return the conversations in a database, or why it cannot be read."""
    try:
        return read_database(file, _sessions_in)
    except _UnknownSchemaError as error:
        return Failure(str(file), str(error), error.action)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        return Failure(str(file), reason, "Make it readable; `openclaw doctor` checks it.")


def read_session(file: Path, session: str) -> list[str]:
    """Return the rows of a conversation in order, each the JSON of a transcript's line."""

    def rows(connection: apsw.Connection) -> list[str]:
        _check(connection)
        columns = _columns(connection, _ROWS)
        found = connection.execute(
            _READ.format(packed=_PACKED if _PACKED in columns else "NULL"), (session,)
        )
        return [_text(plain, packed) for plain, packed in readable(found)]

    return read_database(file, rows)


class _UnknownSchemaError(OSError):
    """The database has another schema than those that are known."""

    def __init__(self, message: str, *, action: str) -> None:
        super().__init__(message)
        self.action = action


def read_database(file: Path, work: Callable[[apsw.Connection], Outcome]) -> Outcome:
    """Return what a function reads in a database that another program may be writing."""
    import apsw  # noqa: PLC0415 - heavy, and most memories have no such database

    for _ in range(_ATTEMPTS):
        before = _state(file)
        is_idle = before[-1] == 0
        try:
            with closing(_open(file, is_idle=is_idle)) as connection, connection:
                outcome = work(connection)
        except apsw.Error as error:
            if is_idle and before != _state(file):
                continue
            raise OSError(str(error)) from error
        # Without a lock another program may have written meanwhile.
        if not is_idle or before == _state(file):
            return outcome
    raise OSError("it keeps changing")


def readable(rows: apsw.Cursor) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """Yield rows, but none with a text that is not valid UTF-8."""
    while True:
        try:
            yield next(rows)
        except UnicodeDecodeError:
            continue
        except StopIteration:
            return


def _state(file: Path) -> tuple[int, int, int, int]:
    """Return what changes when the file is written; the last part is the size of its log."""
    status = file.lstat()
    try:
        log_bytes = file.with_name(f"{file.name}{_LOG}").stat().st_size
    except FileNotFoundError:
        log_bytes = 0
    return status.st_ino, status.st_size, status.st_mtime_ns, log_bytes


def _open(file: Path, *, is_idle: bool) -> apsw.Connection:
    import apsw  # noqa: PLC0415

    looks, room, most_memory = count(), MAX_BYTES, apsw.memory_used() + MAX_BYTES

    def look() -> bool:
        if next(looks) > _MOST_LOOKS or apsw.memory_used() > most_memory:
            raise OSError("reading it takes more steps or memory than an honest database needs")
        return False

    def take(_: apsw.Cursor, row: tuple[apsw.SQLiteValue, ...]) -> tuple[apsw.SQLiteValue, ...]:
        nonlocal room
        room -= _ROW_BYTES + sum(len(each) for each in row if isinstance(each, str | bytes))
        if room < 0:
            raise OSError(f"it holds more than {MAX_BYTES // 1024**2} MiB of conversations")
        return row

    options = "mode=ro&immutable=1" if is_idle else "mode=ro"
    connection = apsw.Connection(
        f"file:{quote(str(file))}?{options}",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW,
    )
    connection.set_progress_handler(look, _STEPS_PER_LOOK)
    connection.row_trace = take
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
    connection.pragma("temp_store", "memory")  # what is sorted would fill the disk
    connection.set_busy_timeout(_PATIENCE_MS)
    connection.pragma("query_only", True)
    connection.pragma("trusted_schema", False)  # it may name functions with side effects
    return connection


def _check(connection: apsw.Connection) -> None:
    version = int(str(connection.pragma("user_version")))
    if version < SCHEMAS.start and not _columns(connection, _ROWS):
        return  # from when conversations were files
    is_complete = all(needed <= _columns(connection, table) for table, needed in _NEEDED.items())
    if version in SCHEMAS and is_complete:
        return
    known = f"{SCHEMAS.start} to {SCHEMAS.stop - 1}"
    message = f"has schema {version} of OpenClaw's agent database; this version reads {known}"
    if version < SCHEMAS.start:
        raise _UnknownSchemaError(message, action="Update OpenClaw; it converts the file.")
    raise _UnknownSchemaError(
        message, action="Upgrade Recollect. Conversations imported before stay searchable."
    )


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    found = connection.execute(_COLUMNS, (table,))  # not of views, and none that is computed
    return {str(name) for (name,) in found}


def _sessions_in(connection: apsw.Connection) -> list[StoredSession]:
    _check(connection)
    columns = _columns(connection, _ROWS)
    if not columns:
        return []
    tree = {
        str(key): {"parentSessionKey": parent, "spawnedBy": spawner}
        for key, parent, spawner in readable(connection.execute(_PARENTS))
    }
    size = _BYTES_PACKED if _PACKED in columns else _BYTES
    rows = connection.execute(_LIST.format(size=size))
    return [
        StoredSession(
            id=str(session),
            stat=Stat(int(str(size_bytes)), int(str(at_ms)) * _NS_PER_MS),
            cwd=string(row_of(str(header)) or {}, "cwd") or None,
            excluded=FORGOTTEN if is_forgotten else inherited_exclusion(str(key), tree),
        )
        for session, key, size_bytes, at_ms, header, is_forgotten in readable(rows)
    ]


def _text(plain: object, packed: object) -> str:
    if isinstance(packed, bytes):
        return unpack(packed, limit=_MAX_ROW_BYTES).decode("utf-8", "replace")
    return str(plain).replace("\n", " ")  # in JSON a line end is only ever a space
