"""A store in PostgreSQL with pgvector: one database for the memories of many agents."""

from __future__ import annotations

from recollect.stores.postgres.store import PostgresStore, open_database

__all__ = ["PostgresStore", "open_database"]
