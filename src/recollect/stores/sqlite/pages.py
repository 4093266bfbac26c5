"""Page checksums by SQLite's extension cksumvfs: a read of a changed page fails.

It takes a page of zeroes for sound, so rows that can fill more than one page end with `tail`. A
file with checksums is replaced like a damaged one if the extension is missing, and the reverse:
written without the extension, it would seem to be damaged afterwards.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import apsw

from recollect.errors import StoreCorruptError, StoreError

_EXTRAS = Path(apsw.__file__).parent / "sqlite_extra_binaries"
_RESERVED_BYTES = 8  # of each page: what cksumvfs needs
_MARK = 0x52_43_53_31
"""The `application_id` of a file with checksums: the other sign, a byte of the header, may flip."""


@cache
def are_available() -> bool:
    """Load the extension into this process; return False if apsw came without it.

    It becomes the default way to open files, under which other shims may be laid. One that is there
    and cannot be loaded is an error: a file with checksums must not be written without it.
    """
    for file in _EXTRAS.glob("cksumvfs.*"):
        _load(file)
        return True
    return False


def _load(file: Path) -> None:
    connection = apsw.Connection(":memory:")
    try:
        # As `apsw.sqlite_extra.load` does, which imports more than a command does otherwise.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
        connection.load_extension(str(file))
    except (OSError, apsw.Error) as error:
        raise StoreError(
            f"SQLite's extension {file.name}, which checks every page, cannot be loaded.",
            action="Close other programs if memory is short; otherwise install apsw again.",
        ) from error
    finally:
        connection.close()


def begin(connection: apsw.Connection) -> None:
    """Give a file that is still empty its checksums."""
    if are_available() and not connection.pragma("page_count"):
        connection.reserve_bytes("main", _RESERVED_BYTES)
        connection.pragma("application_id", _MARK)


def check(connection: apsw.Connection, *, path: Path) -> None:
    """Check that a file is of the kind that this process writes."""
    is_marked = int(str(connection.pragma("application_id"))) == _MARK
    is_sound = is_marked == are_available()
    if is_sound and is_marked:
        is_sound = bool(int(str(connection.pragma("checksum_verification"))))
    if not is_sound:
        raise damaged(
            f"The header of the index {path} is damaged, or written by another build of SQLite."
        )


def require_end(connection: apsw.Connection, *, path: Path) -> None:
    """Check that the last page is not cut: SQLite reads zeroes for what is missing of it.

    With a log the file may be cut: its pages are in the log.
    """
    log = path.with_name(f"{path.name}-wal")
    has_log = log.is_file() and log.stat().st_size
    if not has_log and path.stat().st_size % int(str(connection.pragma("page_size"))):
        raise damaged(f"The index {path} is damaged (its end is missing).")


def damaged(message: str) -> StoreCorruptError:
    """Return the error of a file that has to be replaced."""
    return StoreCorruptError(
        message, action="Run `recollect index`: it sets the file aside and rebuilds from the files."
    )
