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
    INSERT INTO leases (name, token, purpose, pid, host, since, beat)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class SqliteLeases(SqliteFile, Leases):
    """The leases of one file, over their own connection."""

    def holder(self, name: str) -> Holder | None:
        with self._reading() as connection:
            return _holder(connection, name)

    def change(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        with self._writing() as connection:
            after = decide(_holder(connection, name))
            connection.execute("DELETE FROM leases WHERE name = ?", (name,))
            if after is not None:
                connection.execute(_PUT, (name, *astuple(after)))
            return after


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
