"""Opens the file: pragmas with their reasons, transactions, and SQLite's errors as ours."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

import apsw

from recollect.errors import (
    StoreBusyError,
    StoreDiskError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from recollect.stores.base import patience_seconds
from recollect.stores.sqlite import pages
from recollect.text.files import make_private_file, make_private_folder, restrict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY_SECONDS = 30.0  # a writer holds the file for one document at a time, far below this
_WAL_SWITCH_ATTEMPTS = 50  # switching to WAL ignores the busy timeout, so we retry
_WAL_SWITCH_PAUSE_SECONDS = 0.05
_CACHE_KIB = 32_000
_WRONG_JSON = ("JSON cannot hold", "malformed JSON")  # of stored values: those we bind are right
_VFS_WITHOUT_LOCKS = "win32-none" if sys.platform == "win32" else "unix-none"
_DAMAGE = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.ConstraintError,  # tables that contradict each other
    # A page in the place of another has rows with other types and values than ours.
    *(ValueError, TypeError, LookupError, AttributeError),
)
_is_alone: ContextVar[bool] = ContextVar("_is_alone", default=False)
_creating = threading.Lock()


def connect(path: Path, *, writable: bool) -> apsw.Connection:
    """Open the index file with every pragma set."""
    with translated(path):
        pages.are_available()  # loads the extension, before the first file is opened
        if writable:
            _make_private(path)
            return _open_writable(path)
        return _opened(_open_read_only(path), writable=False)


def _open_writable(path: Path) -> apsw.Connection:
    with _folder_locked(path, is_exclusive=False):
        if path.is_file() and path.stat().st_size:
            return _opened(apsw.Connection(str(path)), writable=True)
    # One process at a time gives an empty file its header: a connection that was opened before
    # another wrote it would not see that pages have checksums, and write pages without them.
    with _folder_locked(path, is_exclusive=True):
        return _opened(apsw.Connection(str(path)), writable=True)


def _make_private(path: Path) -> None:
    """Create the file for its owner only, or restrict it; SQLite copies its mode to side files."""
    make_private_folder(path.parent)
    # Closing a descriptor of a file releases all locks that this process has on it, those of
    # SQLite too. So no other thread may open the new file before its descriptor is closed.
    with _creating:
        make_private_file(path)
    for beside in files_of(path)[1:]:
        restrict(beside)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Run the body while no other process opens or replaces an index in this folder.

    A file and its two side files cannot be renamed in one step, and a process that opened them
    halfway through would mix two databases.
    """
    with _folder_locked(path, is_exclusive=True):
        previous = _is_alone.set(True)
        try:
            yield
        finally:
            _is_alone.reset(previous)


@contextlib.contextmanager
def _folder_locked(path: Path, *, is_exclusive: bool) -> Iterator[None]:
    # On Windows an open file cannot be renamed.
    if sys.platform == "win32" or _is_alone.get():
        yield
        return
    import fcntl  # noqa: PLC0415 - not there on Windows

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: one machine uses it
            fcntl.flock(folder, fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(folder)  # also unlocks


def _open_read_only(path: Path) -> apsw.Connection:
    """Open a file that this process may only read, with what a killed writer left in its log."""
    try:
        return _read_by(path, "mode=ro")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # A read-only folder has no place for the memory that readers of a log share.
        log = files_of(path)[1]
        if log.is_file() and log.stat().st_size:
            return _read_by(path, f"mode=ro&vfs={_VFS_WITHOUT_LOCKS}")
        return _read_by(path, "immutable=1")


def _read_by(path: Path, parameters: str) -> apsw.Connection:
    uri = f"{path.absolute().as_uri()}?{parameters}"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        if _VFS_WITHOUT_LOCKS in parameters:
            connection.pragma("locking_mode", "exclusive")  # needs no shared memory
        connection.execute("SELECT 1 FROM sqlite_schema")  # opens the log
    except apsw.Error:
        connection.close()
        raise
    return connection


def _opened(connection: apsw.Connection, *, writable: bool) -> apsw.Connection:
    try:
        if writable and connection.readonly("main"):  # SQLite opens it all the same
            raise apsw.ReadOnlyError("it is read-only")
        _configure(connection, writable=writable)
    except apsw.Error:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, *, writable: bool) -> None:
    connection.set_busy_timeout(round(1000 * _BUSY_SECONDS))
    connection.pragma("foreign_keys", True)  # deleting a document deletes its chunks
    connection.pragma("cache_size", -_CACHE_KIB)  # the default 2 MB thrashes on vector rows
    connection.pragma("temp_store", 2)  # sorting candidates must not touch the disk
    if writable:
        pages.begin(connection)
        _enter_wal(connection)  # readers never wait for the writer
        connection.pragma("synchronous", 1)  # NORMAL is crash-safe under WAL, at a tenth of FULL


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
    """Run the body as one transaction that is the only writer from its start."""
    connection.set_busy_timeout(round(1000 * patience_seconds(_BUSY_SECONDS)))
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.set_busy_timeout(round(1000 * _BUSY_SECONDS))
    try:
        yield
    except BaseException:
        # After a full disk or an I/O error SQLite has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """Run the body on one snapshot; inside another transaction it joins that one."""
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
    """Turn errors of SQLite and the file system into ours, with what to do next."""
    try:
        yield
    except apsw.BusyError as error:
        raise StoreBusyError(
            f"Another process has been writing the index {path} for longer than usual.",
            action="Run it again when the other has finished; you can search meanwhile.",
        ) from error
    except apsw.FullError as error:
        raise StoreFullError(
            f"No space left while writing the index {path} ({error}).",
            action="Free disk space and run `recollect index` again; what was indexed is intact.",
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        raise _unusable(path, error) from error
    except UnicodeEncodeError:
        raise  # of what is written
    except (apsw.Error, *_DAMAGE) as error:
        raise _explained(path, error) from error


def _unusable(path: Path, error: Exception) -> StoreError:
    is_folder = False
    with contextlib.suppress(OSError):  # a disk that fails does not tell
        is_folder = path.is_dir()
    if is_folder:
        return StoreReadOnlyError(
            f"The index {path} is a folder, and has to be a file.",
            action="Rename or remove that folder: the index is built from your files.",
        )
    return StoreReadOnlyError(
        f"The index {path} cannot be opened or written ({error}).",
        action="Make the folder writable, or set RECOLLECT_HOME to a folder that is.",
    )


def _explained(path: Path, error: Exception) -> StoreError:
    """Return the damage that an error reports, or another failure."""
    code = getattr(error, "extendedresult", None)
    reason = "a page does not match its checksum" if code == apsw.SQLITE_IOERR_DATA else str(error)
    if (
        isinstance(error, _DAMAGE)
        or code == apsw.SQLITE_IOERR_DATA
        or reason.startswith(_WRONG_JSON)
    ):
        return pages.damaged(f"The index {path} is damaged ({reason}).")
    if isinstance(error, apsw.IOError):
        return disk_error(path, str(error))
    return StoreError(
        f"SQLite failed on the index {path} ({error}).",
        action="Run `recollect doctor` to check the index and the disk.",
    )


def disk_error(path: Path, reason: str) -> StoreDiskError:
    """Return the failure of a disk; it is not damage of the file, which may be sound."""
    return StoreDiskError(
        f"The disk failed on the index {path} ({reason}).",
        action="Try again; if it fails again, check the disk. "
        "`recollect reset --yes` starts a new index.",
    )


def files_of(path: Path) -> list[Path]:
    """Return the file and the two that SQLite keeps beside it."""
    return [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]


class SqliteFile:
    """A file that is opened on first use. Each role of a SqliteStore is a class on top of it."""

    def __init__(self, path: Path, *, connection: apsw.Connection | None = None) -> None:
        self._path = path
        self._opened = connection

    @property
    def _connection(self) -> apsw.Connection:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> apsw.Connection:
        return connect(self._path, writable=True)

    def close(self) -> None:
        """Release the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with translated(self._path), reading(self._connection):
            yield self._connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with translated(self._path), writing(self._connection):
            yield self._connection

    def meta(self, prefix: str) -> dict[str, str]:
        with self._reading() as connection:
            found = connection.execute(
                "SELECT key, value FROM meta WHERE instr(key, ?) = 1 ORDER BY key", (prefix,)
            )
            return dict(found)

    def put_meta(self, key: str, value: str | None) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
            if value is not None:
                connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (key, value))
