"""What an operator does with a database: create the tables, change them, look at them."""

from __future__ import annotations

import secrets

from recollect.reports import BuiltIndexes, DatabaseStatus
from recollect.stores.postgres.connect import connected, shown, translated
from recollect.stores.postgres.near import build_indexes
from recollect.stores.postgres.schema import MIGRATIONS, migrate, require_server, version_of

_EXTENSIONS = """
    SELECT extname, extversion FROM pg_extension WHERE extname IN ('vector', 'citus') ORDER BY 1
"""
_HOLD = "SELECT pg_advisory_xact_lock(%s)"
_IS_FREE = "SELECT pg_try_advisory_xact_lock(%s)"
_ROLE = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


def prepare_database(address: str, *, citus: bool = False) -> list[str]:
    """Create the tables or bring them up to date; return the names of the steps applied.

    Raises:
        StoreError: the server cannot be used, or the role may not create tables.

    """
    with translated(shown(address)), connected(address) as connection:
        return migrate(connection, citus=citus)


def index_database(address: str) -> BuiltIndexes:
    """Build vector indexes for the memories that have become large.

    Raises:
        StoreError: the server cannot be used, or the role does not see all memories.

    """
    with translated(shown(address)), connected(address) as connection:
        version_of(connection)  # tells of missing tables
        return BuiltIndexes(*build_indexes(connection))


def is_same_database(one: str, other: str) -> bool:
    """Tell whether two addresses lead to one database, however they are written.

    A lock that is held through one of them is held for the whole database and nothing else, not
    even for a server that was restored from a copy of the same files.

    Raises:
        StoreError: a server cannot be reached.

    """
    key = secrets.randbits(62)
    with (
        translated(shown(one)),
        connected(one) as holding,
        holding.transaction(),
        translated(shown(other)),
        connected(other) as asking,
        asking.transaction(),
    ):
        holding.execute(_HOLD, (key,))
        row = asking.execute(_IS_FREE, (key,)).fetchone()
        return row is not None and not row[0]


def describe_database(address: str) -> DatabaseStatus:
    """Return what runs at an address, and whether an agent can use it.

    Raises:
        StoreError: the server cannot be reached or is too old.

    """
    with translated(shown(address)), connected(address) as connection:
        require_server(connection)
        extensions: dict[str, str] = dict(connection.execute(_EXTENSIONS).fetchall())
        unguarded = connection.execute(_ROLE).fetchone()
        return DatabaseStatus(
            location=shown(address),
            server=connection.info.parameter_status("server_version") or "unknown",
            extensions=extensions,
            version=version_of(connection),
            newest=len(MIGRATIONS),
            is_guarded=not (unguarded and unguarded[0]),
        )
