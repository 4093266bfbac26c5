"""Opening the file: pragmas with their reasons, transactions, and SQLite's errors as ours."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

import apsw

from recollect.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from recollect.text.globs import matches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY_TIMEOUT_MS = 30_000  # a writer holds the file for one document at a time: far below this
_WAL_SWITCH_ATTEMPTS = 50  # switching to WAL does not honour the busy time-out, so it is retried
_WAL_SWITCH_PAUSE_SECONDS = 0.05
_CACHE_KIB = 32_000
_patience_ms: ContextVar[int] = ContextVar("_patience_ms", default=_BUSY_TIMEOUT_MS)
_is_alone: ContextVar[bool] = ContextVar("_is_alone", default=False)


def connect(path: Path, *, writable: bool) -> apsw.Connection:
    """Open the index file with every pragma set.

    Raises:
        StoreReadOnlyError: the file or its folder cannot be opened as asked.
        StoreCorruptError: the file is not a sound SQLite database.

    """
    with translated(path):
        if writable:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _folder_locked(path, is_exclusive=False):
                return _opened(apsw.Connection(str(path)), writable=True)
        else:
            # Immutable: a reader in a folder it cannot write has no place for WAL's shared memory.
            uri = f"{path.absolute().as_uri()}?immutable=1"
            connection = apsw.Connection(
                uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            return _opened(connection, writable=False)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Run the body while no other process opens or sets aside an index of this folder.

    A file and the two beside it cannot be renamed in one step, and whoever opens them halfway
    mixes two databases.
    """
    with _folder_locked(path, is_exclusive=True):
        former = _is_alone.set(True)
        try:
            yield
        finally:
            _is_alone.reset(former)


@contextlib.contextmanager
def _folder_locked(path: Path, *, is_exclusive: bool) -> Iterator[None]:
    # On Windows nobody can rename a file that another has open.
    if sys.platform == "win32" or _is_alone.get():
        yield
        return
    import fcntl  # noqa: PLC0415 - not there on Windows

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a disk without such locks is used by one machine
            fcntl.flock(folder, fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(folder)  # which also unlocks


def _opened(connection: apsw.Connection, *, writable: bool) -> apsw.Connection:
    try:
        _configure(connection, writable=writable)
    except apsw.Error:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, *, writable: bool) -> None:
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    connection.pragma("foreign_keys", True)  # a dropped document takes its chunks along
    connection.pragma("cache_size", -_CACHE_KIB)  # the default 2 MB thrashes on vector rows
    connection.pragma("temp_store", 2)  # sorting candidates must not touch the disk
    connection.create_scalar_function("path_matches", _path_matches, 2, deterministic=True)
    if writable:
        _enter_wal(connection)  # readers never wait for the writer
        connection.pragma("synchronous", 1)  # NORMAL is crash-safe under WAL, at a tenth of FULL


def _path_matches(*arguments: object) -> bool:
    path, pattern = arguments
    return matches(str(path), str(pattern))


def _enter_wal(connection: apsw.Connection) -> None:
    for attempt in range(_WAL_SWITCH_ATTEMPTS):
        try:
            if connection.pragma("journal_mode") != "wal":
                connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if attempt + 1 == _WAL_SWITCH_ATTEMPTS:
                raise
            time.sleep(_WAL_SWITCH_PAUSE_SECONDS)
        else:
            return


@contextlib.contextmanager
def writing(connection: apsw.Connection) -> Iterator[None]:
    """Run the body as one transaction that is the only writer from its first statement on."""
    connection.set_busy_timeout(_patience_ms.get())
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    try:
        yield
    except BaseException:
        # SQLite has already rolled back by itself after a full disk or an I/O error.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def impatient(seconds: float) -> Iterator[None]:
    """Let the body's transactions wait no longer than this for one that another process has begun.

    It holds for this thread and for every connection the body uses, however deep: whoever answers
    a question bounds the wait once, and no stage has to pass it on.
    """
    former = _patience_ms.set(round(seconds * 1000))
    try:
        yield
    finally:
        _patience_ms.reset(former)


@contextlib.contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """Run the body on one snapshot, so that its statements agree with each other.

    Inside another one it is part of that.
    """
    is_inner = connection.in_transaction
    if not is_inner:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction and not is_inner:
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the file system's errors into ours, with what to do next."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusyError(
            f"Another process has been writing the index {path} for longer than usual.",
            action="Run it again when the other has finished; searching works meanwhile.",
        ) from error
    except apsw.FullError as error:
        raise StoreFullError(
            f"No room left while writing the index {path} ({error}).",
            action="Free disk space and run `recollect index` again; what was indexed is intact.",
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorruptError(
            f"The index {path} is damaged ({error}).",
            action="Run `recollect index`: it sets the file aside and rebuilds from the files.",
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        raise StoreReadOnlyError(
            f"The index {path} cannot be opened or written ({error}).",
            action="Make the folder writable, or set RECOLLECT_HOME to a folder that is.",
        ) from error
    except apsw.Error as error:
        raise StoreError(
            f"SQLite failed on the index {path} ({error}).",
            action="Run `recollect doctor` to check the index and the disk.",
        ) from error


def files_of(path: Path) -> list[Path]:
    """Return the index file and the two that SQLite keeps beside it."""
    return [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]
