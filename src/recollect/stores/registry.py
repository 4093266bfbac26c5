"""Opens a store by its address: `ram:`, `file:` with a path, or that of a PostgreSQL database.

Heavy modules load only then. Nothing above this package knows what kind of store it uses.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from recollect.errors import ConfigError, StoreReadOnlyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.reports import Check
    from recollect.stores.base import Store
    from recollect.stores.cache import VectorCache
    from recollect.stores.postgres.host import PostgresHost
    from recollect.stores.pushed import MemoryLimits

_DATABASE = "postgresql"
SUFFIX = ".sqlite"
"""Suffix of the files that hold stores and vector caches."""
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


def parse_address(value: object) -> str:
    """Read the setting that says where the index is; a ValueError says what it can be."""
    if value in ("file:", "ram:"):
        return str(value)
    if not isinstance(value, str) or not is_database(value):
        raise ValueError(f"`file:`, `ram:`, or an address that starts with {_DATABASE}://")
    parts = urlsplit(value)
    if parts.password or "password" in parse_qs(parts.query):
        raise ValueError("an address without a password; set PGPASSWORD or use ~/.pgpass for that")
    return value


def is_database(address: str) -> bool:
    """Return whether an address is that of a database, which holds many memories."""
    return address.startswith(f"{_DATABASE}://")


def open_store(
    address: str | Path, *, engine: str = "numpy", agent: str = ""
) -> tuple[Store, tuple[str, ...]]:
    """Open the store at an address; return it with notices for the user.

    A file searches vectors by `engine`, numpy or sqlite-vec; `agent` is whose memory it is, in a
    database that many share.
    """
    if isinstance(address, Path) or address.startswith("file:"):
        from recollect.stores.sqlite import open_file  # noqa: PLC0415 - heavy

        return open_file(Path(str(address).removeprefix("file:")), engine=engine)
    if address == "ram:":
        from recollect.stores.ram import RamStore  # noqa: PLC0415 - heavy

        return RamStore(), ()
    if is_database(address):
        with needing_psycopg():
            from recollect.stores.postgres import open_database  # noqa: PLC0415 - heavy

        return open_database(address, tenant=agent), ()
    raise ConfigError(
        f"The store `{address}` is of an unknown kind.",
        action=f"Start the address with one of file:, ram:, {_DATABASE}:.",
    )


@contextmanager
def needing_psycopg() -> Iterator[None]:
    """Say what to install if the body cannot import the modules of `stores.postgres`."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"A store in PostgreSQL needs a package that is not installed ({error}).",
            action="Install the extra in Recollect's checkout: pip install '.[postgres]'",
        ) from error


def open_host(address: str, *, limits: MemoryLimits) -> PostgresHost:
    """Open a database as a server of many memories uses it."""
    if not is_database(address):
        raise ConfigError(
            f"`store` is {address}, which holds one memory.",
            action="Set `store` to the address of a database, postgresql://user@host/database.",
        )
    with needing_psycopg():
        from recollect.stores.postgres import host  # noqa: PLC0415 - heavy

    return host.open_host(address, limits=limits)


def open_cache(address: str | Path, path: Path, *, max_bytes: int) -> VectorCache | None:
    """Return the home's vector cache for a store, created on first use; None if it uses none."""
    if not max_bytes or address == "ram:":
        return None
    from recollect.stores.cache import VectorCache  # noqa: PLC0415 - heavy

    return VectorCache(path, max_bytes=max_bytes)


def inspect_file(path: Path) -> Store:
    """Open an existing file only to look at it: damage is reported, not repaired."""
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


def move_file(path: Path, to: Path) -> None:
    """Rename a store's file with its side files."""
    for suffix in _SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(to.with_name(to.name + suffix))


def is_store_file(path: str) -> bool:
    """Return True if a store writes this file, by its name alone."""
    return path.endswith(tuple(SUFFIX + suffix for suffix in _SIDE_FILES))


def check_engine() -> Check:
    """Describe the library behind files."""
    import apsw  # noqa: PLC0415 - heavy

    from recollect.reports import Check  # noqa: PLC0415 - only for `doctor`
    from recollect.stores.sqlite import pages  # noqa: PLC0415 - heavy

    also = "page checksums" if pages.are_available() else "no page checksums"
    return Check("sqlite", works=True, detail=f"{apsw.sqlite_lib_version()} with {also}")
