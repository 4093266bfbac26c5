"""What every role of a PostgreSQL store has: a session, a tenant, and the tables of its spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.postgres.connect import run
from recollect.stores.postgres.schema import SCHEMA, space_key

if TYPE_CHECKING:
    from recollect.stores.postgres.connect import Connection, Cursor, Session
    from recollect.types import Fingerprint

_ADD_TENANT = "INSERT INTO tenants (tenant) VALUES (%s) ON CONFLICT DO NOTHING"
_DIMENSIONS = """
    SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'vector'
"""
_LOCK_TENANT = "SELECT chunks, length, last FROM tenants WHERE tenant = %s FOR UPDATE"


def table_of(fingerprint: Fingerprint) -> str:
    """Return the name of the table with the vectors of a space."""
    return f"{SCHEMA}.vectors_{space_key(fingerprint)}"


class TenantTables:
    """A part of a store that works for one tenant."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tenant = session.tenant

    def _lock(self, connection: Connection) -> Cursor:
        """Let one transaction at a time change this tenant; return what reads its totals.

        Others are not held up.
        """
        run(connection, _ADD_TENANT, (self._tenant,))
        return run(connection, _LOCK_TENANT, (self._tenant,))

    def _vector_table(self, connection: Connection, fingerprint: Fingerprint | None) -> str | None:
        """Return the table with the vectors of a space; None if no tenant has any."""
        if fingerprint is None:
            return None
        name = table_of(fingerprint)
        known = self._session.shared.tables
        if name not in known:
            row = run(connection, _DIMENSIONS, (name,)).fetchone()
            if row is None:
                return None
            known[name] = row[0]
        return name

    def meta(self, prefix: str) -> dict[str, str]:
        query = (
            "SELECT key, value FROM meta WHERE tenant = %s AND starts_with(key, %s) "
            'ORDER BY key COLLATE "C"'
        )
        return dict(self._session.read(query, (self._tenant, prefix)))

    def put_meta(self, key: str, value: str | None) -> None:
        with self._session.writing() as connection:
            query = "DELETE FROM meta WHERE tenant = %s AND key = %s"
            if value is not None:
                query = (
                    "INSERT INTO meta VALUES (%s, %s, %s) ON CONFLICT (tenant, key) DO UPDATE "
                    "SET value = EXCLUDED.value"
                )
            run(connection, query, (self._tenant, key, *([] if value is None else [value])))
