"""A database as a server of many memories uses it: every role, for any tenant, from one pool."""

from __future__ import annotations

from recollect.stores.postgres.connect import Session
from recollect.stores.postgres.pushed import PostgresPushed
from recollect.stores.postgres.queue import PostgresQueue
from recollect.stores.postgres.store import PostgresStore, require_tables
from recollect.stores.postgres.tokens import PostgresTokens
from recollect.stores.pushed import MemoryLimits, StoreHost


class PostgresHost(StoreHost):
    """The memories of one database. Each call returns a handle for one thread."""

    def __init__(self, address: str, *, limits: MemoryLimits) -> None:
        self._address = address
        self._limits = limits
        self._pool = Session(address, "")  # keeps the connections while nobody uses them

    def store(self, agent: str) -> PostgresStore:
        return PostgresStore(Session(self._address, agent))

    def pushed(self, agent: str) -> PostgresPushed:
        return PostgresPushed(Session(self._address, agent), limits=self._limits)

    def tokens(self) -> PostgresTokens:
        return PostgresTokens(self._address)

    def queue(self) -> PostgresQueue:
        return PostgresQueue(self._address)

    def close(self) -> None:
        self._pool.close()


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database whose tables exist.

    Raises:
        StoreError: the server cannot be reached, or has no such tables.

    """
    require_tables(address)
    return PostgresHost(address, limits=limits)
