"""The tables: the tenant first in every key, so that Citus can shard them by it.

No sequences, no keys between tables of which one is not sharded, no statement that spans tenants:
ids are made by the client. Every table has a policy that shows a session only the rows of the
tenant it has named. Vectors of one space are in one table, which `add_space` creates: the role that
agents use may not create tables.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg import sql

from recollect.errors import StoreError, StoreTooNewError

if TYPE_CHECKING:
    import psycopg

    from recollect.types import Fingerprint

SCHEMA = "recollect"
TABLES = (
    *("tenants", "documents", "chunks", "segments", "postings", "facts", "media"),
    *("spaces", "meta", "leases", "pushed", "pushed_versions", "word_codes"),
)
"""Tables whose rows belong to one tenant each, by `tenant`."""
_MOST_NAME_BYTES = 63  # of a role
LEAST_SERVER = 150_000
"""PostgreSQL 15, as `server_version_num`."""
LEAST_PGVECTOR = (0, 8)
_LOCK = 0x7265636F  # of the advisory lock under which tables are created and changed
_WRITING = _LOCK + 1  # held by every transaction that writes, and by none while tables are changed
BEGIN_WRITING = f"SELECT pg_advisory_xact_lock_shared({_WRITING})"
"""Waits for a migration. What is written after it fits the version that VERSION returns."""
VERSION = f"SELECT count(*), coalesce(max(serves), 0) FROM {SCHEMA}.migrations"  # noqa: S608
"""Returns how many migrations were applied, and how many a process has to know at least."""

_HERE = Path(__file__).parent
MIGRATIONS: tuple[tuple[str, str, int], ...] = tuple(
    (file.stem.split("_", 2)[2], file.read_text(encoding="utf-8"), int(file.stem.split("_")[1]))
    for file in sorted(
        (_HERE / "steps").glob("*.sql"), key=lambda file: int(file.stem.split("_")[0])
    )
)
"""Named steps in order, with how many of them a process has to know at least to use the tables.

The file of a step is named by its number, that least number, and its name. From the first release
on none is edited. A step that only expands, with new tables, indexes and columns that have a
default, has the number of the step before as the least: processes of the earlier version go on
beside the new ones. What they use is taken away by a step of a later version.
"""

_VECTOR_TYPE = """
    SELECT format('%I.vector', nspname) FROM pg_extension
    JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'
"""


_IS_DISTRIBUTED = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = %s::regclass"
_DISTRIBUTE = "SELECT create_distributed_table(%s::regclass, 'tenant', colocate_with => %s)"
_TRUNCATE = "SELECT truncate_local_data_after_distributing_table(%s::regclass)"
_VECTOR_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')
    AND starts_with(relname, 'vectors_') ORDER BY 1
"""


def agent_role(database: str) -> str:
    """Return the group of a database that agents are granted.

    It owns nothing and may not bypass policies.
    """
    return f"recollect_agent_{database}"


def server_role(database: str) -> str:
    """Return the group of servers and workers: it also has the tokens and the queue."""
    return f"recollect_server_{database}"


def space_key(fingerprint: Fingerprint | str) -> str:
    """Return the name of a space's table behind `vectors_`."""
    return hashlib.sha256(str(fingerprint).encode()).hexdigest()[:16]


def migrate(connection: psycopg.Connection[Any], *, citus: bool = False) -> list[str]:
    """Create the tables or bring them up to date; return the names of the steps applied."""
    require_server(connection)
    applied: list[str] = []
    with connection.transaction():
        # In this order: a transaction that writes may have to wait for the other lock.
        for lock in (_WRITING, _LOCK):
            connection.execute(f"SELECT pg_advisory_xact_lock({lock})".encode())
        require_pgvector(connection, "SELECT default_version FROM pg_available_extensions", "name")
        groups = _groups(connection.info.dbname)
        connection.execute(_statements("prepare.sql").format(**groups))
        require_pgvector(connection, "SELECT extversion FROM pg_extension", "extname")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, pg_temp".encode())
        version, serves = version_of(connection)
        if version > len(MIGRATIONS):  # whose functions and rights would be replaced by older ones
            require_version(version, max(serves, version), location="the database")
        for number, (name, statements, least) in enumerate(MIGRATIONS[version:], version + 1):
            connection.execute(statements.encode())
            connection.execute("INSERT INTO migrations VALUES (%s, %s, %s)", (number, name, least))
            applied.append(name)
        (vector,) = connection.execute(_VECTOR_TYPE).fetchone() or ("",)
        rights = {**groups, "vector": sql.Literal(vector), "lock": sql.Literal(_LOCK)}
        connection.execute(_statements("rights.sql").format(**rights))
        for name in _sharded(connection):
            connection.execute("SELECT guard(%s::regclass)", (name,))
        if citus or is_distributed(connection):
            _require_citus(connection)
            _distribute(connection)
    return applied


def _statements(name: str) -> sql.SQL:
    return sql.SQL((_HERE / name).read_text(encoding="utf-8"))


def _groups(database: str) -> dict[str, sql.Composable]:
    agent, server = agent_role(database), server_role(database)
    if len(server.encode()) > _MOST_NAME_BYTES:
        raise StoreError(
            f"The name of the database {database} is too long: {server} is its group of servers.",
            action=f"Choose a shorter one: a role has up to {_MOST_NAME_BYTES} bytes.",
        )
    names = {"agent_name": sql.Literal(agent), "server_name": sql.Literal(server)}
    return {**names, "agent": sql.Identifier(agent), "server": sql.Identifier(server)}


def _require_citus(connection: psycopg.Connection[Any]) -> None:
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"
    if connection.execute(available).fetchone() is None:
        raise StoreError(
            "The server has no Citus; nothing was changed.",
            action="Install Citus on the coordinator and its workers, or leave out --citus: one "
            "server needs none.",
        )


def is_distributed(connection: psycopg.Connection[Any]) -> bool:
    """Return whether Citus shards the tables."""
    there = connection.execute("SELECT to_regclass('pg_dist_partition') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return False
    return connection.execute(_IS_DISTRIBUTED, (f"{SCHEMA}.tenants",)).fetchone() is not None


def _distribute(connection: psycopg.Connection[Any]) -> None:
    """Shard every table that is not sharded yet: also those of a migration, and of spaces."""
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone() is None:
        connection.execute("CREATE EXTENSION citus")
    connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    new: list[str] = []
    for name in _sharded(connection):
        if connection.execute(_IS_DISTRIBUTED, (name,)).fetchone() is None:
            together = "default" if name == f"{SCHEMA}.tenants" else f"{SCHEMA}.tenants"
            connection.execute(_DISTRIBUTE, (name, together))
            new.append(name)
    for name in new:  # what was copied to the shards would stay on the coordinator's disk
        connection.execute(_TRUNCATE, (name,))


def _sharded(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the tables with rows of one tenant each, also those of spaces."""
    spaces = connection.execute(_VECTOR_TABLES, (SCHEMA,)).fetchall()
    return [f"{SCHEMA}.{table}" for table in (*TABLES, *(name for (name,) in spaces))]


def version_of(connection: psycopg.Connection[Any]) -> tuple[int, int]:
    """Return how many migrations were applied, and how many a process has to know at least."""
    row = connection.execute(VERSION.encode()).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return int(row[0]), int(row[1])


def require_version(version: int, serves: int, *, location: str) -> None:
    """Check that this Recollect can use tables of a version, which may be a little newer."""
    known = len(MIGRATIONS)
    if serves > known:
        raise StoreTooNewError(
            f"The tables of {location} are of version {version}; this Recollect knows {known}.",
            action="Upgrade Recollect, and restart what still runs of this version.",
        )
    if version < known:
        raise StoreError(
            f"The tables of {location} are of version {version}; this Recollect needs {known}.",
            action="Run `recollect server init`, or use the Recollect that the others use.",
        )


def require_server(connection: psycopg.Connection[Any]) -> None:
    """Reject a server that is too old."""
    version = connection.info.server_version
    if version < LEAST_SERVER:
        raise StoreError(
            f"The server runs PostgreSQL {version // 10_000}; Recollect needs 15 or newer.",
            action="Upgrade the server.",
        )


def require_pgvector(connection: psycopg.Connection[Any], versions: str, name: str) -> None:
    """Reject a pgvector that is too old, given the query for versions and its column with names."""
    row = connection.execute(f"{versions} WHERE {name} = 'vector'".encode()).fetchone()
    version = tuple(int(part) for part in row[0].split(".")[:2]) if row else ()
    if version < LEAST_PGVECTOR:
        raise StoreError(
            f"The database has {f'pgvector {row[0]}' if row else 'no pgvector'}; Recollect needs "
            "0.8 or newer.",
            action="Install pgvector on the server, then run `recollect server init`.",
        )
