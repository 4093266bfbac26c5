"""Opening an index whatever state it is in: damaged ones are set aside, read-only ones are read.

What was done about it comes back as a notice for the user.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recollect.errors import StoreCorruptError, StoreError, StoreReadOnlyError
from recollect.stores.sqlite.connect import alone, files_of, translated
from recollect.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

_RECENT_SECONDS = 60.0  # an index begun since is another process's answer to the same damage


def open_store(path: Path, *, engine: str) -> tuple[SqliteStore, tuple[str, ...]]:
    """Return the store, and what the user should know of how it was opened.

    Raises:
        StoreError: there is no way to use it.

    """
    try:
        return _mended(SqliteStore.open(path, engine=engine))
    except StoreCorruptError as error:
        return replace_store(path, engine=engine, error=error)
    except StoreReadOnlyError as error:
        if not path.is_file():
            raise
        notice = f"{error.message} It is searched as it is, not brought up to date. {error.action}"
        return SqliteStore.open(path, engine=engine, writable=False), (notice,)


def _mended(store: SqliteStore) -> tuple[SqliteStore, tuple[str, ...]]:
    try:
        count = store.inspection.mend()
    except BaseException:
        store.close()
        raise
    notice = f"{count} entries of the index disagreed with its chunks and were mended."
    return store, (notice,) if count else ()


def replace_store(
    path: Path, *, engine: str, error: StoreCorruptError
) -> tuple[SqliteStore, tuple[str, ...]]:
    """Set a damaged index aside and return an empty one in its place.

    Several processes find out at once: the first one does it, the others use what it began.
    """
    with translated(path), alone(path):
        begun = _begun_just_now(path, engine=engine)
        if begun is not None:
            return begun, (f"{error.message} It was set aside and is rebuilt from the files.",)
        kept = set_aside(path)
        store = SqliteStore.open(path, engine=engine)
        store.inspection.remember_begun(time.time())
    notice = f"{error.message} It was set aside as {kept.name} and is rebuilt from the files."
    return store, (notice,)


def _begun_just_now(path: Path, *, engine: str) -> SqliteStore | None:
    """Return the index that another process has put in a damaged one's place, if it is sound."""
    if not path.is_file():
        return None
    try:
        store = SqliteStore.open(path, engine=engine)
    except StoreError:
        return None
    try:
        begun = store.inspection.begun()
        is_recent = begun is not None and time.time() - begun < _RECENT_SECONDS
        if is_recent and not store.inspection.check():
            return store
    except StoreError:
        pass
    store.close()
    return None


def set_aside(path: Path) -> Path:
    """Rename a damaged index out of the way, with its side files; return its new name.

    It is kept rather than deleted: it may be wanted to find out what happened.
    """
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for file, target in zip(files_of(path), files_of(kept), strict=True):
        with translated(path):
            if file.exists():
                file.rename(target)
    return kept
