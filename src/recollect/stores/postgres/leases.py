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
_PUT = """
    INSERT INTO leases (tenant, name, token, purpose, pid, host, since, beat)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, name) DO UPDATE SET token = EXCLUDED.token, purpose = EXCLUDED.purpose,
        pid = EXCLUDED.pid, host = EXCLUDED.host, since = EXCLUDED.since, beat = EXCLUDED.beat
"""


class PostgresLeases(TenantTables, Leases):
    """The leases of one tenant, over a session of their own."""

    def take(
        self, name: str, wanted: Holder, *, is_gone: Callable[[Holder], bool]
    ) -> Holder | None:
        with self._session.writing() as connection:
            self._lock(connection)
            holder = self._holder(connection, name)
            if holder is not None and not is_gone(holder):
                return holder
            run(connection, _PUT, (self._tenant, name, *astuple(wanted)))
            return None

    def holder(self, name: str) -> Holder | None:
        with self._session.reading() as connection:
            return self._holder(connection, name)

    def _holder(self, connection: Connection, name: str) -> Holder | None:
        row = run(connection, _GET, (self._tenant, name)).fetchone()
        return None if row is None else Holder(*row)

    def beat(self, name: str, *, token: str, now: float) -> bool:
        with self._session.writing() as connection:
            query = "UPDATE leases SET beat = %s WHERE tenant = %s AND name = %s AND token = %s"
            return run(connection, query, (now, self._tenant, name, token)).rowcount == 1

    def give_back(self, name: str, *, token: str) -> None:
        with self._session.writing() as connection:
            query = "DELETE FROM leases WHERE tenant = %s AND name = %s AND token = %s"
            run(connection, query, (self._tenant, name, token))

    def close(self) -> None:
        """Give the session back."""
        self._session.close()
