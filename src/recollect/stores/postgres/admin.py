"""What an operator does with a database: create the tables, change them, look at them."""

from __future__ import annotations

from psycopg import errors

from recollect.errors import StoreError
from recollect.reports import BuiltIndexes, DatabaseStatus
from recollect.stores.postgres.connect import connected, shown, translated
from recollect.stores.postgres.near import build_indexes
from recollect.stores.postgres.schema import (
    MIGRATIONS,
    agent_role,
    is_distributed,
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
_ROWS = r"""
    SELECT regexp_replace(c.relname, '_\d+$', '') AS name, sum(greatest(s.n_live_tup, c.reltuples))
    FROM pg_stat_all_tables s JOIN pg_class c ON c.oid = s.relid
    WHERE s.schemaname = 'recollect' GROUP BY 1
"""
# A shard has its number behind the name of the table.
_SHARDED_ROWS = f"""
    WITH told AS MATERIALIZED (SELECT * FROM run_command_on_all_nodes($$
        SELECT json_object_agg(name, sum) FROM ({_ROWS}) counted
    $$))
    SELECT key, sum(value::float8) FROM told,
        json_each_text(CASE WHEN success THEN result::json END)
    WHERE (SELECT bool_and(success) FROM told) GROUP BY 1
"""  # noqa: S608 - our own names
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
        counted = connection.execute(_SHARDED_ROWS if is_distributed(connection) else _ROWS)
        rows = {name: int(count) for name, count in counted}
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
