"""Who writes: one row a lease, in the index file itself, so that no second file can disagree.

A lease is a promise among processes, not a lock: SQLite's own lock already lets one transaction
write at a time. It keeps long work from being done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.stores.sqlite.connect import connect, translated, writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import apsw

_PUT = """
    INSERT OR REPLACE INTO leases (name, token, purpose, pid, host, since, beat)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease, and since when."""

    token: str
    """Only the holder knows it is theirs."""
    purpose: str
    """What they do, in words for a user."""
    pid: int
    host: str
    since: float
    beat: float
    """Last sign of life; both in seconds of the wall clock."""


class SqliteLeases:
    """The leases of one index, over a connection of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: apsw.Connection | None = None

    @property
    def _connection(self) -> apsw.Connection:
        if self._opened is None:
            self._opened = connect(self._path, writable=True)
        return self._opened

    def take(
        self, name: str, wanted: Holder, *, is_gone: Callable[[Holder], bool]
    ) -> Holder | None:
        """Take the lease, unless someone who is not gone holds it; return who that is.

        Raises:
            StoreError: the index cannot be written.

        """
        with translated(self._path), writing(self._connection):
            holder = self._holder(name)
            if holder is not None and not is_gone(holder):
                return holder
            self._connection.execute(
                _PUT,
                (
                    name,
                    wanted.token,
                    wanted.purpose,
                    wanted.pid,
                    wanted.host,
                    wanted.since,
                    wanted.beat,
                ),
            )
            return None

    def holder(self, name: str) -> Holder | None:
        """Return who holds a lease."""
        with translated(self._path):
            return self._holder(name)

    def beat(self, name: str, *, token: str, now: float) -> bool:
        """Give a sign of life; False when the lease was taken over."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "UPDATE leases SET beat = ? WHERE name = ? AND token = ?", (now, name, token)
            )
            return self._connection.changes() == 1

    def give_back(self, name: str, *, token: str) -> None:
        """Release the lease, if it is still ours."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "DELETE FROM leases WHERE name = ? AND token = ?", (name, token)
            )

    def close(self) -> None:
        """Release the connection."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _holder(self, name: str) -> Holder | None:
        row = self._connection.execute(
            "SELECT token, purpose, pid, host, since, beat FROM leases WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else Holder(*row)
