"""The leases of a store: one row each in the index file, so that no second file can disagree."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from recollect.stores.base import Holder, Leases
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.rows import real_of, text_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

_GET = "SELECT token, purpose, pid, host, since, beat FROM leases WHERE name = ?"
_PUT = """
    INSERT OR REPLACE INTO leases (name, token, purpose, pid, host, since, beat)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class SqliteLeases(SqliteFile, Leases):
    """The leases of one file, over their own connection."""

    def take(
        self, name: str, wanted: Holder, *, is_gone: Callable[[Holder], bool]
    ) -> Holder | None:
        with self._writing() as connection:
            holder = _holder(connection, name)
            if holder is not None and not is_gone(holder):
                return holder
            connection.execute(_PUT, (name, *astuple(wanted)))
            return None

    def holder(self, name: str) -> Holder | None:
        with self._reading() as connection:
            return _holder(connection, name)

    def beat(self, name: str, *, token: str, now: float) -> bool:
        with self._writing() as connection:
            connection.execute(
                "UPDATE leases SET beat = ? WHERE name = ? AND token = ?", (now, name, token)
            )
            return connection.changes() == 1

    def give_back(self, name: str, *, token: str) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM leases WHERE name = ? AND token = ?", (name, token))


def _holder(connection: apsw.Connection, name: str) -> Holder | None:
    row = connection.execute(_GET, (name,)).fetchone()
    if row is None:
        return None
    token, purpose, pid, host, since, beat = row
    return Holder(
        text_of(token),
        text_of(purpose),
        whole_of(pid),
        text_of(host),
        real_of(since),
        real_of(beat),
    )
