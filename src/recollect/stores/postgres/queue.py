"""The queue of memories with something to embed: one row each, claimed by one worker at a time."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from recollect.stores.base import patience as limited_to
from recollect.stores.postgres.connect import Session, run
from recollect.stores.pushed import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence

_AGAIN = """
    ON CONFLICT (tenant) DO UPDATE
    SET changes = queue.changes + 1, due = least(queue.due, now())
"""
ENQUEUE = f"INSERT INTO queue (tenant) VALUES (%s) {_AGAIN}"  # noqa: S608 - our own names
_ENQUEUE_ALL = f"INSERT INTO queue (tenant) SELECT DISTINCT tenant FROM tokens {_AGAIN}"  # noqa: S608
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
_RELEASE = """
    UPDATE queue SET claim = NULL, claimed_until = NULL, failures = 0
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


class PostgresQueue:
    """The queue of all tenants."""

    def __init__(self, address: str) -> None:
        self._session = Session(address, "")

    def add(self, agent: str) -> None:
        """Put a memory into the queue, also if a worker is at work on it."""
        self._run(ENQUEUE, (agent,))

    def add_all(self) -> None:
        """Put every memory that has a token into the queue."""
        self._run(_ENQUEUE_ALL, ())

    def claim(self, *, seconds: float) -> Claim | None:
        """Take the memory that has waited longest; None if none waits.

        A claim that is not renewed in time is free for others.
        """
        with self._session.writing() as connection:
            row = run(connection, _CLAIM, (uuid.uuid4().hex, seconds)).fetchone()
        return None if row is None else Claim(*row)

    def renew(self, claim: Claim, *, seconds: float) -> bool:
        """Keep a claim for longer; return False if another worker has taken it."""
        return self._run(_RENEW, (seconds, claim.agent, claim.key)) == 1

    def finish(self, claim: Claim) -> None:
        """Take the memory out of the queue, unless it changed since the claim."""
        if not self._run(_FINISH, (claim.agent, claim.key, claim.changes)):
            self._run(_RELEASE, (claim.agent, claim.key))

    def put_off(self, claim: Claim, *, seconds: float) -> None:
        """Give the claim back: the work failed, or was left, and is due again after so long."""
        self._run(_PUT_OFF, (seconds, claim.agent, claim.key))

    def waiting(self) -> int:
        """Return how many memories are in the queue."""
        return int(self._session.read("SELECT count(*) FROM queue")[0][0])

    def check(self, *, patience: float) -> int:
        """Write to the database within so many seconds; return how many memories wait."""
        with limited_to(patience):
            self._run(_CHECK, ())
            return self.waiting()

    def close(self) -> None:
        self._session.close()

    def _run(self, statement: str, values: Sequence[object]) -> int:
        with self._session.writing() as connection:
            return run(connection, statement, values).rowcount
