"""What an operator does with a database: create the tables, change them, look at them."""

from __future__ import annotations

from psycopg import errors

from recollect.errors import StoreError
from recollect.reports import BuiltIndexes, DatabaseStatus
from recollect.stores.postgres.connect import connected, shown, translated
from recollect.stores.postgres.near import build_indexes
from recollect.stores.postgres.schema import (
    MIGRATIONS,
    SCHEMA,
    agent_role,
    migrate,
    require_server,
    server_role,
    version_of,
)

_EXTENSIONS = "SELECT extname, extversion FROM pg_extension WHERE extname = ANY(%s) ORDER BY 1"
_OURS = ("vector", "citus")
_ROLE = """
    SELECT rolsuper OR rolbypassrls, has_database_privilege('public', current_database(), 'TEMP')
    FROM pg_roles WHERE rolname = current_user
"""
# Of all tenants, for any role. The one is lost by a crash, the other comes with the first ANALYZE.
_ROWS = """
    SELECT relname, greatest(s.n_live_tup, c.reltuples::bigint)
    FROM pg_stat_all_tables s JOIN pg_class c USING (relname)
    WHERE c.oid = s.relid AND s.schemaname = %s
"""
_COUNTED = {"memories": "tenants", "documents": "documents", "chunks": "chunks"}


def prepare_database(address: str, *, citus: bool = False) -> list[str]:
    """Create the tables or bring them up to date; return the names of the steps applied."""
    location = shown(address)
    with translated(location), connected(address) as connection:
        try:
            return migrate(connection, citus=citus)
        except errors.InsufficientPrivilege as error:
            raise StoreError(
                f"The role of this address may not change the tables of {location} ({error}).",
                action="Use the address of the role that owns them, or of the superuser: see the "
                "guide for operators.",
            ) from error


def index_database(address: str) -> BuiltIndexes:
    """Build vector indexes for the memories that have become large."""
    with translated(shown(address)), connected(address) as connection:
        version_of(connection)  # tells of missing tables
        return BuiltIndexes(*build_indexes(connection))


def describe_database(address: str) -> DatabaseStatus:
    """Return what runs at an address, and whether an agent can use it."""
    with translated(shown(address)), connected(address) as connection:
        require_server(connection)
        found: dict[str, str] = dict(connection.execute(_EXTENSIONS, (list(_OURS),)).fetchall())
        unguarded, open_temp = connection.execute(_ROLE).fetchone() or (False, False)
        stored = [] if "citus" in found else connection.execute(_ROWS, (SCHEMA,)).fetchall()
        rows: dict[str, int] = dict(stored)
        database = connection.info.dbname
        return DatabaseStatus(
            location=shown(address),
            server=connection.info.parameter_status("server_version") or "unknown",
            extensions=found,
            version=version_of(connection)[0],
            newest=len(MIGRATIONS),
            is_guarded=not unguarded,
            has_open_temp=open_temp,
            groups={"agents": agent_role(database), "servers": server_role(database)},
            rows={what: rows[table] for what, table in _COUNTED.items() if table in rows},
        )
