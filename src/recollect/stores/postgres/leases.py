"""The leases of a tenant: one row each."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from recollect.stores.base import Holder, Leases
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.tenant import TenantTables

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.stores.postgres.connect import Connection

_GET = "SELECT token, purpose, pid, host, since, beat FROM leases WHERE tenant = %s AND name = %s"
_DELETE = "DELETE FROM leases WHERE tenant = %s AND name = %s"
_PUT = """
    INSERT INTO leases (tenant, name, token, purpose, pid, host, since, beat)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, name) DO UPDATE SET token = EXCLUDED.token, purpose = EXCLUDED.purpose,
        pid = EXCLUDED.pid, host = EXCLUDED.host, since = EXCLUDED.since, beat = EXCLUDED.beat
"""


class PostgresLeases(TenantTables, Leases):
    """The leases of one tenant, over a session of their own."""

    def holder(self, name: str) -> Holder | None:
        with self._session.reading() as connection:
            return self._holder(connection, name)

    def _holder(self, connection: Connection, name: str, *, lock: str = "") -> Holder | None:
        row = run(connection, _GET + lock, (self._tenant, name)).fetchone()
        return None if row is None else Holder(*row)

    def change(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        with self._session.writing() as connection:
            # A holder who does long work has locked the tenant, and its heart goes on beating.
            before = self._holder(connection, name, lock=" FOR UPDATE")
            if before is None:
                self._lock(connection)
                before = self._holder(connection, name)
            after = decide(before)
            if after is None:
                run(connection, _DELETE, (self._tenant, name))
            elif after != before:
                run(connection, _PUT, (self._tenant, name, *astuple(after)))
            return after

    def close(self) -> None:
        """Give the session back."""
        self._session.close()
