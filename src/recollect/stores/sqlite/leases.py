"""The leases of a store: one row each in the index file, so that no second file can disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.base import Holder
from recollect.stores.sqlite.connect import connect, translated, writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import apsw

_PUT = """
    INSERT OR REPLACE INTO leases (name, token, purpose, pid, host, since, beat)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class SqliteLeases:
    """The leases of one file, over their own connection, opened on first use."""

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
        """Take a lease, unless a holder who is not gone has it; return that holder."""
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
        """Record a heartbeat; return False if another process has taken the lease over."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "UPDATE leases SET beat = ? WHERE name = ? AND token = ?", (now, name, token)
            )
            return self._connection.changes() == 1

    def give_back(self, name: str, *, token: str) -> None:
        """Release a lease, if this token still holds it."""
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
