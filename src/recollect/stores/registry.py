"""Which stores are there? Opens one by its address; a new kind of store is one more row.

An address is `ram:`, `file:` with a path, or that of a PostgreSQL database; a `Path` alone is a
file. Heavy modules load only when a store is opened. Nothing above this package knows what kind of
store it uses.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from recollect.errors import ConfigError, StoreReadOnlyError
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.reports import BuiltIndexes, DatabaseStatus
    from recollect.stores.base import Store
    from recollect.stores.cache import VectorCache
    from recollect.stores.postgres.host import PostgresHost
    from recollect.stores.pushed import MemoryLimits

    Opened = tuple[Store, tuple[str, ...]]
    """A store, and notices for the user about how it was opened."""

_DATABASE = "postgresql"
SUFFIX = ".sqlite"
"""Suffix of the files that hold stores and vector caches."""
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


def _open_file(path: str, engine: str, _agent: str) -> Opened:
    from recollect.stores.sqlite import open_file  # noqa: PLC0415 - heavy

    return open_file(Path(path), engine=engine)


def _open_ram(_path: str, _engine: str, _agent: str) -> Opened:
    from recollect.stores.ram import RamStore  # noqa: PLC0415 - heavy

    return RamStore(), ()


@contextmanager
def _needing_psycopg() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"A store in PostgreSQL needs a package that is not installed ({error}).",
            action="Install the extra in Recollect's checkout: pip install '.[postgres]'",
        ) from error


def _open_database(rest: str, _engine: str, agent: str) -> Opened:
    with _needing_psycopg():
        from recollect.stores.postgres import open_database  # noqa: PLC0415 - heavy

    return open_database(f"{_DATABASE}:{rest}", tenant=agent), ()


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Whether the library behind a kind of store works here."""

    name: str
    works: bool
    detail: str
    action: str = ""
    """What to do if it does not."""


@dataclass(frozen=True, slots=True)
class _Kind:
    open: Callable[[str, str, str], Opened]
    """Takes what follows the scheme, the vector engine, and the agent's id."""
    uses_cache: bool
    """Vectors also go to the home's vector cache."""


_KINDS = {
    "file": _Kind(_open_file, uses_cache=True),
    "ram": _Kind(_open_ram, uses_cache=False),
    _DATABASE: _Kind(_open_database, uses_cache=True),
}


def parse_address(value: object) -> str:
    """Read the setting that says where the index is.

    Raises:
        ValueError: it cannot be an address; says what can.

    """
    if value in ("file:", "ram:"):
        return str(value)
    if not isinstance(value, str) or not value.startswith(f"{_DATABASE}://"):
        raise ValueError(f"`file:`, `ram:`, or an address that starts with {_DATABASE}://")
    parts = urlsplit(value)
    if parts.password or "password" in parse_qs(parts.query):
        raise ValueError("an address without a password; set PGPASSWORD or use ~/.pgpass for that")
    return value


def prepare_database(address: str, *, citus: bool) -> list[str]:
    """Create the tables of a database or bring them up to date; return the steps applied."""
    with _needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.prepare_database(address, citus=citus)


def describe_database(address: str) -> DatabaseStatus:
    """Return what runs at an address, and whether an agent can use it."""
    with _needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.describe_database(address)


def index_database(address: str) -> BuiltIndexes:
    """Build vector indexes for the memories of a database that have become large."""
    with _needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.index_database(address)


def is_same_store(one: str, other: str) -> bool:
    """Return whether two addresses lead to one store, however they are written.

    Raises:
        StoreError: a database cannot be reached.

    """
    if one == other:
        return True
    if not all(address.startswith(f"{_DATABASE}:") for address in (one, other)):
        return False
    with _needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.is_same_database(one, other)


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database as a server of many memories uses it.

    Raises:
        ConfigError: the address is not one of a database.
        StoreError: the database cannot be used.

    """
    if not address.startswith(f"{_DATABASE}:"):
        raise ConfigError(
            f"`store` is {address}, which holds one memory.",
            action="Set `store` to the address of a database, postgresql://user@host/database.",
        )
    with _needing_psycopg():
        from recollect.stores.postgres import host  # noqa: PLC0415 - heavy

    return host.open_host(address, limits=limits)


def open_store(address: str | Path, *, engine: str = "numpy", agent: str = "") -> Opened:
    """Open the store at an address; return it with notices for the user.

    Args:
        address: `ram:`, `file:` with a path, `postgresql://…`, or a `Path`.
        engine: how a file searches vectors: `numpy` or `sqlite-vec`.
        agent: whose memory it is, in a database that many agents share.

    Raises:
        ConfigError: there is no such kind of store.
        StoreError: the store cannot be used.

    """
    kind, path = _kind(address)
    return kind.open(path, engine, agent)


def open_cache(address: str | Path, path: Path, *, max_bytes: int) -> VectorCache | None:
    """Return the home's vector cache for a store, or None if that store uses none.

    Its file is opened, and created, on first use.
    """
    kind, _ = _kind(address)
    if not max_bytes or not kind.uses_cache:
        return None
    from recollect.stores.cache import VectorCache  # noqa: PLC0415 - heavy

    return VectorCache(path, max_bytes=max_bytes)


def inspect_file(path: Path) -> Store:
    """Open an existing file only to look at it: damage is reported, not repaired.

    Raises:
        StoreError: the file cannot be read.

    """
    from recollect.stores.sqlite import SqliteStore  # noqa: PLC0415 - heavy

    try:
        return SqliteStore.open(path)
    except StoreReadOnlyError:
        return SqliteStore.open(path, writable=False)


def remove_file(path: Path) -> bool:
    """Delete a store's file with its side files; return False if there was none."""
    was_there = path.is_file()
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return was_there


def is_store_file(path: str) -> bool:
    """Return True if a store writes this file, by its name alone."""
    return path.endswith(tuple(SUFFIX + suffix for suffix in _SIDE_FILES))


def check_engine() -> EngineCheck:
    """Check that the library behind files has what the tables need."""
    import apsw  # noqa: PLC0415 - heavy

    version = apsw.sqlite_lib_version()
    try:
        apsw.Connection(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(body)")
    except apsw.Error as error:
        return EngineCheck(
            "sqlite",
            works=False,
            detail=f"SQLite {version} has no FTS5 ({error})",
            action="Reinstall apsw from its wheel: it includes SQLite with FTS5.",
        )
    from recollect.stores.sqlite import pages  # noqa: PLC0415 - heavy

    also = "page checksums" if pages.are_available() else "no page checksums"
    return EngineCheck("sqlite", works=True, detail=f"{version} with {also}")


def _kind(address: str | Path) -> tuple[_Kind, str]:
    if isinstance(address, Path):
        return _KINDS["file"], str(address)
    scheme, _, path = address.partition(":")
    if scheme not in _KINDS:
        raise ConfigError(
            f"The store `{address}` is of an unknown kind.",
            action=f"Start the address with one of {', '.join(f'{each}:' for each in _KINDS)}.",
        )
    return _KINDS[scheme], path
