"""The tables: the tenant first in every key, so that Citus can shard them by it.

No sequences, no keys between tables of which one is not sharded, no statement that spans tenants:
ids are made by the client. Every table has a policy that shows a session only the rows of the
tenant it has named. Vectors of one space are in one table, which `add_space` creates: the role that
agents use may not create tables.
"""

from __future__ import annotations

import hashlib
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
VERSION = f"SELECT count(*) FROM {SCHEMA}.migrations"  # noqa: S608 - our own name
"""Returns how many migrations were applied."""

_INITIAL = """
CREATE TABLE tenants (
    tenant text PRIMARY KEY,
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    last bigint NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    tenant text NOT NULL,
    id bigint NOT NULL,
    source text NOT NULL,
    path text NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    is_settled boolean NOT NULL,
    recipe text NOT NULL,
    day date,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, source, path)
);
CREATE TABLE chunks (
    tenant text NOT NULL,
    id bigint NOT NULL,
    document bigint NOT NULL,
    start_line integer NOT NULL,
    end_line integer NOT NULL,
    digest bytea NOT NULL,
    length integer NOT NULL,
    heading text[] NOT NULL,
    prefix text NOT NULL,
    bag bytea NOT NULL,
    text text NOT NULL,
    day date,
    speaker text NOT NULL,
    moment text NOT NULL,
    importance integer,
    triggers text NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, document) REFERENCES documents (tenant, id) ON DELETE CASCADE
);
CREATE INDEX chunks_by_document ON chunks (tenant, document);
CREATE INDEX chunks_by_digest ON chunks (tenant, digest);
CREATE TABLE segments (
    tenant text NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    chunks integer NOT NULL,
    removed_chunks integer NOT NULL DEFAULT 0,
    lengths bytea NOT NULL,
    ids bytea,
    removed bytea,
    PRIMARY KEY (tenant, first)
);
CREATE TABLE postings (
    tenant text NOT NULL,
    segment bigint NOT NULL,
    term bigint NOT NULL,
    terms bytea NOT NULL,
    sizes bytea NOT NULL,
    places bytea NOT NULL,
    frequencies bytea NOT NULL,
    PRIMARY KEY (tenant, segment, term)
);
CREATE TABLE facts (
    tenant text NOT NULL,
    chunk bigint NOT NULL,
    id text NOT NULL,
    scope text NOT NULL,
    since timestamptz,
    until timestamptz,
    superseded_by text NOT NULL,
    PRIMARY KEY (tenant, chunk),
    FOREIGN KEY (tenant, chunk) REFERENCES chunks (tenant, id) ON DELETE CASCADE
);
CREATE INDEX facts_by_id ON facts (tenant, id);
CREATE TABLE media (
    tenant text NOT NULL,
    chunk bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, chunk),
    FOREIGN KEY (tenant, chunk) REFERENCES chunks (tenant, id) ON DELETE CASCADE
);
CREATE TABLE spaces (
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    dimensions integer NOT NULL,
    mean double precision,
    deviation double precision,
    is_published boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, fingerprint)
);
CREATE TABLE meta (
    tenant text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE TABLE leases (
    tenant text NOT NULL,
    name text NOT NULL,
    token text NOT NULL,
    purpose text NOT NULL,
    pid bigint NOT NULL,
    host text NOT NULL,
    since double precision NOT NULL,
    beat double precision NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE TABLE pushed (
    tenant text NOT NULL,
    path text NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    changed_ns bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, path)
);
CREATE TABLE pushed_versions (
    tenant text NOT NULL,
    path text NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    changed_ns bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, path, version)
);
CREATE TABLE word_codes (
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    digest bytea NOT NULL,
    codes bytea NOT NULL,
    PRIMARY KEY (tenant, fingerprint, digest)
);
CREATE TABLE tokens (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    digest bytea NOT NULL,
    label text NOT NULL,
    scopes text[],
    is_read_only boolean NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz
);
CREATE TABLE queue (
    tenant text PRIMARY KEY,
    changes bigint NOT NULL DEFAULT 1,
    failures integer NOT NULL DEFAULT 0,
    due timestamptz NOT NULL DEFAULT now(),
    claim text,
    claimed_until timestamptz
);
CREATE INDEX queue_by_due ON queue (due);
"""

MIGRATIONS: tuple[tuple[str, str], ...] = (("initial", _INITIAL),)
"""Named steps in order; `migrations` has those applied. Never edit one."""

# A role is known to all databases of a server, so each database has groups of its own. An owner
# that may not create roles or extensions finds them there.
_PREPARE = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {{agent_name}}) THEN
        CREATE ROLE {{agent}} NOLOGIN NOBYPASSRLS;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {{server_name}}) THEN
        CREATE ROLE {{server}} NOLOGIN NOBYPASSRLS IN ROLE {{agent}};
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN
        CREATE EXTENSION vector;
    END IF;
END $$;
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);
"""  # noqa: S608 - our own names

# Replaced and granted by every run, so that a database that was restored has them too.
#
# `add_space` runs with the rights of the tables' owner, who may be the superuser, for any agent. An
# agent's temporary objects come before all others unless the path has them last: then only names
# in pg_catalog and names with a schema are found.
_RIGHTS = f"""
CREATE OR REPLACE FUNCTION guard(guarded regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = guarded) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY own_tenant ON %s
             USING (tenant = current_setting(''recollect.tenant'', true))', guarded);
    END IF;
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', guarded, {{agent_name}}::text);
END $$;

-- Takes nothing but a digest and a number. Several tenants may be the first of a space at once. The
-- table that another transaction has just created is not seen by `to_regclass`, lock or not: only
-- creating it again tells.
CREATE OR REPLACE FUNCTION add_space(space text, dimensions integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    vectors pg_catalog.text := '{SCHEMA}.vectors_' || space;
BEGIN
    IF space !~ '^[0-9a-f]{{{{16}}}}$' OR dimensions NOT BETWEEN 1 AND 16000 THEN
        RAISE EXCEPTION 'not a space: % with % dimensions', space, dimensions;
    END IF;
    PERFORM pg_advisory_xact_lock({_LOCK});
    BEGIN
        EXECUTE format(
            'CREATE TABLE %s (tenant pg_catalog.text NOT NULL, digest pg_catalog.bytea NOT NULL,
             vector %s(%s) NOT NULL, PRIMARY KEY (tenant, digest))',
            vectors, {{vector}}::text, dimensions);
    EXCEPTION WHEN duplicate_table THEN
        RETURN;
    END;
    PERFORM {SCHEMA}.guard(vectors::regclass);
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE format(
            'SELECT create_distributed_table(%L, ''tenant'', colocate_with => %L)
             FROM pg_dist_partition WHERE logicalrelid = %L::regclass',
            vectors, '{SCHEMA}.tenants', '{SCHEMA}.tenants');
    END IF;
END $$;

REVOKE ALL ON FUNCTION guard, add_space FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_space TO {{agent}};
GRANT USAGE ON SCHEMA {SCHEMA} TO {{agent}}, pg_monitor;
GRANT SELECT ON migrations TO {{agent}}, pg_monitor;
-- They span tenants, so they are not for the role of agents.
GRANT SELECT, INSERT, UPDATE, DELETE ON tokens, queue TO {{server}};
"""  # noqa: S608 - our own names
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
        connection.execute(sql.SQL(_PREPARE).format(**groups))
        require_pgvector(connection, "SELECT extversion FROM pg_extension", "extname")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, pg_temp".encode())
        version = version_of(connection)
        if version > len(MIGRATIONS):
            require_version(version, location="the database")
        for number, (name, statements) in enumerate(MIGRATIONS[version:], version + 1):
            connection.execute(statements.encode())
            connection.execute("INSERT INTO migrations VALUES (%s, %s)", (number, name))
            applied.append(name)
        (vector,) = connection.execute(_VECTOR_TYPE).fetchone() or ("",)
        connection.execute(sql.SQL(_RIGHTS).format(**groups, vector=sql.Literal(vector)))
        for name in _sharded(connection):
            connection.execute("SELECT guard(%s::regclass)", (name,))
        if citus or _is_distributed(connection):
            _require_citus(connection)
            _distribute(connection)
    return applied


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


def _is_distributed(connection: psycopg.Connection[Any]) -> bool:
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


def version_of(connection: psycopg.Connection[Any]) -> int:
    """Return how many migrations were applied."""
    row = connection.execute(VERSION.encode()).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return int(row[0])


def require_version(version: int, *, location: str) -> None:
    """Check that tables are of the version that this Recollect knows."""
    known = len(MIGRATIONS)
    if version > known:
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
