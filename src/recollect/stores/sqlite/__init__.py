"""How does one SQLite file hold an agent's memory? One module per role, schema, vector engines."""

from recollect.stores.sqlite.store import SqliteStore, open_file

__all__ = ["SqliteStore", "open_file"]
