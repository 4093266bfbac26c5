"""A database as a server of many memories uses it: every role, for any tenant, from one pool.

Tokens are looked up by the part that is not secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.stores.postgres.connect import Session, connected, run, shown, translated
from recollect.stores.postgres.pushed import PostgresPushed
from recollect.stores.postgres.queue import PostgresQueue
from recollect.stores.postgres.schema import SCHEMA, server_role
from recollect.stores.postgres.store import PostgresStore, require_tables
from recollect.stores.pushed import Token

if TYPE_CHECKING:
    from recollect.stores.postgres.connect import Row
    from recollect.stores.pushed import MemoryLimits

_MAY_SERVE = """
    SELECT current_user, bool_and(has_table_privilege(name, kind))
    FROM unnest(%s::text[]) AS name, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS kind
"""

_COLUMNS = "id, tenant, label, scopes, is_read_only, created, expires"
_ADD = f"""
    INSERT INTO tokens ({_COLUMNS}, digest) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""  # noqa: S608 - our own names
_FIND = f"SELECT {_COLUMNS}, digest FROM tokens WHERE id = %s"  # noqa: S608
_LIST = f"""
    SELECT {_COLUMNS} FROM tokens WHERE %s::text IS NULL OR tenant = %s ORDER BY tenant, created, id
"""  # noqa: S608 - our own names
_REVOKE = "DELETE FROM tokens WHERE id = %s"


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


class PostgresTokens:
    """The tokens in the tables of a database."""

    def __init__(self, address: str) -> None:
        self._session = Session(address, "")

    def add(self, token: Token, *, digest: bytes) -> None:
        """Store a new token; only the digest of its secret part is kept."""
        scopes = None if token.scopes is None else sorted(token.scopes)
        rights = (token.label, scopes, token.is_read_only, token.created, token.expires)
        with self._session.writing() as connection:
            run(connection, _ADD, (token.id, token.agent, *rights, digest))

    def listed(self, agent: str | None) -> list[Token]:
        """Return the tokens of one memory, or of all."""
        return [_token(row) for row in self._session.read(_LIST, (agent, agent))]

    def find(self, token_id: str) -> tuple[Token, bytes] | None:
        """Return a token with the digest of its secret part."""
        rows = self._session.read(_FIND, (token_id,))
        return (_token(rows[0][:-1]), bytes(rows[0][-1])) if rows else None

    def revoke(self, token_id: str) -> bool:
        """Delete a token; return False if there is none."""
        with self._session.writing() as connection:
            return run(connection, _REVOKE, (token_id,)).rowcount == 1

    def close(self) -> None:
        self._session.close()


def _token(row: Row) -> Token:
    token_id, agent, label, scopes, is_read_only, created, expires = row
    visible = None if scopes is None else frozenset(scopes)
    return Token(token_id, agent, label, visible, is_read_only, created, expires)


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database whose tables exist."""
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
