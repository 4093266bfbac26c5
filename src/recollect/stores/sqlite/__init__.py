"""How does one SQLite file hold an agent's memory? Connection, schema, vector engines."""

from recollect.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
