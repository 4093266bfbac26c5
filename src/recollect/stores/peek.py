"""Reads the paths of an index file before the store's own library is loaded.

A server that is starting has milliseconds to say what a memory holds. Python's own SQLite is enough
for one query. Whatever is in the way, such as another process that writes, gives None: the store
itself will explain it.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path

_PATHS = "SELECT path FROM documents WHERE source = ? LIMIT ?"
_OTHER_COPY = "apsw"
_PATIENCE_SECONDS = 0.1


def peek_paths(index: Path, *, source: str, limit: int) -> list[str] | None:
    """Return the paths of documents that an index holds; None if that is not known."""
    # Closing a file drops the locks of the whole process, including those of another SQLite in it.
    if _OTHER_COPY in sys.modules or not index.is_file():
        return None
    try:
        import sqlite3  # noqa: PLC0415 - only a server that starts needs it
    except ImportError:  # some builds of Python leave it out
        return None
    log = index.with_name(f"{index.name}-wal")
    # Without a log nothing can be missing, and an immutable file gets no side files.
    mode = "mode=ro" if log.is_file() and log.stat().st_size else "immutable=1"
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(index))}?{mode}", uri=True, timeout=_PATIENCE_SECONDS)
        ) as connection:
            return [path for (path,) in connection.execute(_PATHS, (source, limit))]
    except (sqlite3.Error, OSError):
        return None
