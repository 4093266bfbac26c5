"""HNSW indexes: one for each memory with many vectors, over half precision, in its own part.

An index over all tenants would have to skip those of others: a memory that has a hundredth of the
vectors costs a hundred times as much to search. An index with the tenant in its condition holds
only what is asked for. A small memory is compared as a whole, which is exact and as fast.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from psycopg import sql

from recollect.errors import StoreError
from recollect.stores.postgres.schema import SCHEMA, space_key

if TYPE_CHECKING:
    import psycopg

    from recollect.types import Fingerprint

LARGE = 20_000
"""Vectors of a memory from which on an index is faster: docs/decisions/postgres.md."""
EFFORT = 400
"""How many neighbours the search of an index keeps: twice the pool of the vector leg."""
_MOST_DIMENSIONS = 4_000  # of pgvector's indexes over half precision

_TABLES = """
    SELECT c.relname, a.atttypmod FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'vector'
    WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' ORDER BY c.relname
"""
_COUNTS = "SELECT tenant, count(*) FROM {table} GROUP BY tenant HAVING count(*) >= %s"
_INDEXES = """
    SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = %s::regclass AND starts_with(c.relname, 'near_')
"""
# Concurrently: agents go on writing meanwhile.
_BUILD = """
    CREATE INDEX CONCURRENTLY {name} ON {table}
    USING hnsw ((vector::halfvec({width})) halfvec_ip_ops) WHERE tenant = {tenant}
"""
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS {name}"
_SEES_ALL = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


def index_of(fingerprint: Fingerprint, tenant: str) -> str:
    """Return the name of the index of one memory in one space."""
    return _name(space_key(fingerprint), tenant)


def _name(space: str, tenant: str) -> str:
    owner = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"near_{space}_{owner}"


def build_indexes(connection: psycopg.Connection[Any], *, least: int = LARGE) -> tuple[int, int]:
    """Give every large memory its index, and drop those of others; return how many of each.

    The connection is of a role that sees all tenants, and has no transaction. An index stays until
    the memory has half as many vectors as a large one.
    """
    sees_all = connection.execute(_SEES_ALL).fetchone()
    if not (sees_all and sees_all[0]):
        raise StoreError(
            "This role sees no memory but its own, so it cannot tell which are large.",
            action="Use the superuser, or a role with BYPASSRLS that owns the tables.",
        )
    built = dropped = 0
    for table, width in connection.execute(_TABLES, (SCHEMA,)).fetchall():
        if width <= _MOST_DIMENSIONS:
            more, fewer = _build(connection, table, width=width, least=least)
            built += more
            dropped += fewer
    return built, dropped


def _build(
    connection: psycopg.Connection[Any], table: str, *, width: int, least: int
) -> tuple[int, int]:
    space = table.removeprefix("vectors_")
    place = sql.Identifier(SCHEMA, table)
    counts = sql.SQL(_COUNTS).format(table=place)
    held = {
        _name(space, tenant): (tenant, count)
        for tenant, count in connection.execute(counts, (max(1, least // 2),)).fetchall()
    }
    there = dict(connection.execute(_INDEXES, (f"{SCHEMA}.{table}",)).fetchall())
    # Those of memories that became small, and those whose build was interrupted.
    unwanted = [name for name, is_valid in there.items() if name not in held or not is_valid]
    for name in unwanted:
        connection.execute(sql.SQL(_DROP).format(name=sql.Identifier(SCHEMA, name)))
    wanted = {
        name: tenant
        for name, (tenant, count) in held.items()
        if count >= least and not there.get(name)
    }
    for name, tenant in wanted.items():
        connection.execute(
            sql.SQL(_BUILD).format(
                name=sql.Identifier(name),
                table=place,
                width=sql.Literal(width),
                tenant=sql.Literal(tenant),
            )
        )
    return len(wanted), len(unwanted)
