"""A database as a server of many memories uses it: their tokens, and the queue of work.

Tokens are looked up by the part that is not secret. The queue has a row for each memory with
something to embed, claimed by one worker at a time.
"""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.stores.base import patience as limited_to
from recollect.stores.postgres.connect import (
    Session,
    connected,
    count_changed,
    run,
    shown,
    translated,
)
from recollect.stores.postgres.pushed import ENQUEUE, ENQUEUED_AGAIN, PostgresPushed
from recollect.stores.postgres.schema import SCHEMA, server_role
from recollect.stores.postgres.store import PostgresStore, require_tables
from recollect.stores.pushed import Claim, Token

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_ENQUEUE_ALL = f"INSERT INTO queue (tenant) SELECT DISTINCT tenant FROM tokens {ENQUEUED_AGAIN}"  # noqa: S608
# Workers that ask at the same moment skip the rows that others are about to claim.
_CLAIM = """
    UPDATE queue SET claim = %s, claimed_until = now() + make_interval(secs => %s)
    WHERE tenant = (
        SELECT tenant FROM queue
        WHERE due <= now() AND (claimed_until IS NULL OR claimed_until < now())
        ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING tenant, claim, changes, failures
"""
_RENEW = """
    UPDATE queue SET claimed_until = now() + make_interval(secs => %s)
    WHERE tenant = %s AND claim = %s
"""
_FINISH = "DELETE FROM queue WHERE tenant = %s AND claim = %s AND changes = %s"
_REQUEUE = """
    UPDATE queue SET claim = NULL, claimed_until = NULL, failures = 0, due = now()
    WHERE tenant = %s AND claim = %s
"""
_PUT_OFF = """
    UPDATE queue SET claim = NULL, claimed_until = NULL, failures = failures + 1,
        due = now() + make_interval(secs => %s)
    WHERE tenant = %s AND claim = %s
"""
# A row that no memory has: a database that reads may still refuse every write.
_CHECK = """
    INSERT INTO leases VALUES ('', 'health', '', '', 0, '', 0, 0)
    ON CONFLICT (tenant, name) DO UPDATE SET beat = leases.beat + 1
"""


class PostgresHost:
    """The memories of one database. Threads may share it; stores and documents are for one."""

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

    def close(self) -> None:
        """Release the connections."""
        self._pool.close()

    def add_token(self, token: Token, *, digest: bytes) -> None:
        """Store a new token; only the digest of its secret part is kept."""
        scopes = None if token.scopes is None else sorted(token.scopes)
        rights = (token.label, scopes, token.is_read_only, token.created, token.expires)
        self._write(_ADD, (token.id, token.agent, *rights, digest))

    def tokens(self, agent: str | None) -> list[Token]:
        """Return the tokens of one memory, or of all."""
        return [_token(row) for row in self._read(_LIST, (agent, agent))]

    def find_token(self, token_id: str) -> tuple[Token, bytes] | None:
        """Return a token with the digest of its secret part."""
        rows = self._read(_FIND, (token_id,))
        return (_token(rows[0][:-1]), bytes(rows[0][-1])) if rows else None

    def revoke_token(self, token_id: str) -> bool:
        """Delete a token; return False if there is none."""
        return self._write(_REVOKE, (token_id,)) == 1

    def enqueue(self, agent: str) -> None:
        """Put a memory into the queue, also if a worker is at work on it."""
        self._write(ENQUEUE, (agent,))

    def enqueue_all(self) -> None:
        """Put every memory that has a token into the queue."""
        self._write(_ENQUEUE_ALL)

    def claim(self, *, seconds: float) -> Claim | None:
        """Take the memory that has waited longest; None if none waits.

        A claim that is not renewed in time is free for others.
        """
        with closing(Session(self._address, "")) as session, session.writing() as connection:
            row = run(connection, _CLAIM, (uuid.uuid4().hex, seconds)).fetchone()
        return None if row is None else Claim(*row)

    def renew(self, claim: Claim, *, seconds: float) -> bool:
        """Keep a claim for longer; return False if another worker has taken it."""
        return self._write(_RENEW, (seconds, claim.agent, claim.key)) == 1

    def finish(self, claim: Claim) -> None:
        """Take the memory out of the queue, unless it changed since the claim."""
        if not self._write(_FINISH, (claim.agent, claim.key, claim.changes)):
            self.requeue(claim)

    def requeue(self, claim: Claim) -> None:
        """Give the claim back: the memory is due again after those that wait already."""
        self._write(_REQUEUE, (claim.agent, claim.key))

    def put_off(self, claim: Claim, *, seconds: float) -> None:
        """Give the claim back: the work failed, or was left, and is due again after so long."""
        self._write(_PUT_OFF, (seconds, claim.agent, claim.key))

    def waiting(self) -> int:
        """Return how many memories are in the queue."""
        return int(self._read("SELECT count(*) FROM queue")[0][0])

    def check(self, *, patience: float) -> int:
        """Write to the database within so many seconds; return how many memories wait."""
        with limited_to(patience):
            self._write(_CHECK)
            return self.waiting()

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        with closing(Session(self._address, "")) as session:
            return session.read(statement, values)

    def _write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Return how many rows a statement has changed."""
        with closing(Session(self._address, "")) as session, session.writing() as connection:
            return count_changed(connection, statement, values)


def _token(row: Row) -> Token:
    token_id, agent, label, scopes, is_read_only, created, expires = row
    visible = None if scopes is None else frozenset(scopes)
    return Token(token_id, agent, label, visible, is_read_only, created, expires)


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database whose tables exist, with a role that may serve."""
    require_tables(address)
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
    return PostgresHost(address, limits=limits)
