"""The tables, and the migrations that bring older files up to date.

A vector is stored once, by its space and the number of its text: moved files, repeated texts and a
return to an earlier model need no second embedding. Numbers ascend and are never used again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import StoreReadOnlyError, StoreTooNewError
from recollect.stores.sqlite.connect import reading, writing
from recollect.stores.sqlite.pages import damaged

if TYPE_CHECKING:
    import apsw

_STEPS = sorted((Path(__file__).parent / "steps").glob("*.sql"))
MIGRATIONS: tuple[str, ...] = tuple(file.read_text(encoding="utf-8") for file in _STEPS)
"""Steps in order; a file's `user_version` counts those applied. A released one is never edited."""
_CHANGED = re.compile(r"\b(CREATE|DROP) (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER|VIEW) (\w+)")


def migrate(connection: apsw.Connection, *, path: Path) -> None:
    """Apply the missing migrations, each in one transaction with its record."""
    check(connection, path=path)
    while (version := version_of(connection)) < len(MIGRATIONS):
        with writing(connection):
            # Another process may have applied it while this one waited for the lock.
            if version_of(connection) == version:
                connection.execute(MIGRATIONS[version])
                connection.execute(f"PRAGMA user_version = {version + 1}")


def require_current(connection: apsw.Connection, *, path: Path) -> None:
    """Reject a file that cannot be written and lacks migrations."""
    check(connection, path=path)
    if version_of(connection) < len(MIGRATIONS):
        raise StoreReadOnlyError(
            f"The index {path} was made by an earlier version and cannot be brought up to date.",
            action="Make its folder writable for one `recollect index`, or set RECOLLECT_HOME to "
            "a folder that is.",
        )


def check(connection: apsw.Connection, *, path: Path) -> None:
    """Reject a file of a newer version, and one that is not an index."""
    with reading(connection):
        version = version_of(connection)
        names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    if not names.issuperset(_names(version)) or (names and not version):
        raise damaged(f"The file {path} does not have the tables of an index.")
    if version > len(MIGRATIONS):
        raise StoreTooNewError(
            f"The index {path} has schema {version}; this version supports {len(MIGRATIONS)}.",
            action="Upgrade Recollect, or delete the index with `recollect reset --yes`.",
        )


def _names(version: int) -> set[str]:
    """Return the names of the tables, indexes and triggers that a file of this version has."""
    names: set[str] = set()
    for sql in MIGRATIONS[:version]:
        for change, name in _CHANGED.findall(sql):
            (names.add if change == "CREATE" else names.discard)(name)
    return names


def version_of(connection: apsw.Connection) -> int:
    """Return how many migrations were applied to a file."""
    return int(str(connection.pragma("user_version")))
