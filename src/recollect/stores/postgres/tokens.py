"""The tokens of all memories: looked up by the part that is not secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.postgres.connect import Session, run
from recollect.stores.pushed import Token

if TYPE_CHECKING:
    from recollect.stores.postgres.connect import Row

_COLUMNS = "id, tenant, label, scopes, is_read_only, created, expires"
_ADD = f"""
    INSERT INTO tokens ({_COLUMNS}, digest) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""  # noqa: S608 - our own names
_FIND = f"SELECT {_COLUMNS}, digest FROM tokens WHERE id = %s"  # noqa: S608
_LIST = f"""
    SELECT {_COLUMNS} FROM tokens WHERE %s::text IS NULL OR tenant = %s ORDER BY tenant, created, id
"""  # noqa: S608 - our own names
_REVOKE = "DELETE FROM tokens WHERE id = %s"


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
