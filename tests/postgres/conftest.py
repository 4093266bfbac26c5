from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.support.postgres import database, host_of

from recollect.hosting.host import MemoryHost
from recollect.stores.postgres import PostgresStore, open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Statement = tuple[str, Sequence[object]]

_numbers = itertools.count()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database with the tables, for the role of an agent."""
    return database(shared_folder(tmp_path_factory))


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of a test run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


@pytest.fixture
def host(address: str, environ: dict[str, str]) -> Iterator[MemoryHost]:
    """Every memory of the database, without vectors."""
    settings = {"store": host_of(address), "provider": "none"}
    with MemoryHost.open(settings=settings, environ=environ) as opened:
        yield opened


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test has."""
    return f"tenant-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def opened(address: str) -> Iterator[Callable[[str], PostgresStore]]:
    """Open the store of a tenant; all are closed in the end."""
    stores: list[PostgresStore] = []

    def open_one(tenant: str) -> PostgresStore:
        stores.append(open_database(address, tenant=tenant))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Statement]]:
    """Collect what any cursor executes."""
    collected: list[Statement] = []
    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def note(query: object, values: Any) -> None:
        if isinstance(query, bytes | str):  # anything else is psycopg's own
            text = query.decode() if isinstance(query, bytes) else query
            collected.append((text, tuple(values or ())))

    def recorded(cursor: Any, query: Any, params: Any = None, **more: Any) -> Any:
        note(query, params)
        return execute(cursor, query, params, **more)

    def recorded_many(cursor: Any, query: Any, rows: Any, **more: Any) -> None:
        for row in rows:
            note(query, row)
        executemany(cursor, query, rows, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", recorded)
    monkeypatch.setattr(psycopg.Cursor, "executemany", recorded_many)
    yield collected
    monkeypatch.undo()
