"""Opening an index whatever state it is in: damaged ones are set aside, read-only ones are read.

What was done about it comes back as a notice for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import StoreCorruptError, StoreReadOnlyError
from recollect.stores.sqlite.connect import files_of, translated
from recollect.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


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
    """Set a damaged index aside and return an empty one in its place."""
    kept = set_aside(path)
    notice = f"{error.message} It was set aside as {kept.name} and is rebuilt from the files."
    return SqliteStore.open(path, engine=engine), (notice,)


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
