"""A database as a server of many memories uses it: every role, for any tenant, from one pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.stores.postgres.connect import Session, connected, shown, translated
from recollect.stores.postgres.pushed import PostgresPushed
from recollect.stores.postgres.queue import PostgresQueue
from recollect.stores.postgres.schema import SCHEMA, server_role
from recollect.stores.postgres.store import PostgresStore, require_tables
from recollect.stores.postgres.tokens import PostgresTokens

if TYPE_CHECKING:
    from recollect.stores.pushed import MemoryLimits

_MAY_SERVE = """
    SELECT current_user, bool_and(has_table_privilege(name, kind))
    FROM unnest(%s::text[]) AS name, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS kind
"""


class PostgresHost:
    """The memories of one database. Each call returns a handle for one thread."""

    def __init__(self, address: str, *, limits: MemoryLimits) -> None:
        self._address = address
        self._limits = limits
        self._pool = Session(address, "")  # keeps the connections while nobody uses them

    @property
    def location(self) -> str:
        """Where it is, without a password."""
        return self._pool.location

    def store(self, agent: str) -> PostgresStore:
        """Return the store of one memory."""
        return PostgresStore(Session(self._address, agent))

    def pushed(self, agent: str) -> PostgresPushed:
        """Return the pushed documents of one memory."""
        return PostgresPushed(Session(self._address, agent), limits=self._limits)

    def tokens(self) -> PostgresTokens:
        """Return the tokens of all memories."""
        return PostgresTokens(self._address)

    def queue(self) -> PostgresQueue:
        """Return the queue of work."""
        return PostgresQueue(self._address)

    def close(self) -> None:
        """Release the connections."""
        self._pool.close()


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database whose tables exist.

    Raises:
        StoreError: the server cannot be reached, has no such tables, or the role may not serve.

    """
    require_tables(address)
    _require_rights(address)
    return PostgresHost(address, limits=limits)


def _require_rights(address: str) -> None:
    location = shown(address)
    tables = [f"{SCHEMA}.{name}" for name in ("tokens", "queue")]
    with translated(location), connected(address) as connection:
        row = connection.execute(_MAY_SERVE, (tables,)).fetchone()
        group = server_role(connection.info.dbname)
    role, may_serve = row or ("", False)
    if not may_serve:
        raise StoreError(
            f"The role {role} of {location} may not use the tokens and the queue of memories.",
            action=f"Grant it {group}, as superuser: GRANT {group} TO {role}; or use "
            "the address of a role that has it.",
        )
