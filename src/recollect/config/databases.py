"""Databases that many agents share: their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.stores.registry import is_database, needing_psycopg, parse_address

if TYPE_CHECKING:
    from recollect.config.load import Setup
    from recollect.reports import BuiltIndexes, DatabaseStatus


def database_of(setup: Setup, given: str | None) -> str:
    """Return the address of a database: the one given, or the one that the settings name.

    Raises:
        ConfigError: it is not the address of a database.

    """
    address = given or setup.config.store
    try:
        address = parse_address(address)
    except ValueError as error:
        raise ConfigError("This is not the address of a store.", action=f"Give {error}.") from None
    if not is_database(address):
        raise ConfigError(
            f"`store` is {address}, which is not a database.",
            action="Give the address of one, postgresql://user@host/database.",
        )
    return address


def prepare_database(
    setup: Setup, given: str | None, *, citus: bool
) -> tuple[list[str], DatabaseStatus]:
    """Create the tables or bring them up to date; return the steps applied, and what is there."""
    address = database_of(setup, given)
    with needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.prepare_database(address, citus=citus), admin.describe_database(address)


def describe_database(setup: Setup, given: str | None) -> DatabaseStatus:
    """Return what runs at an address, and whether an agent can use it."""
    address = database_of(setup, given)
    with needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.describe_database(address)


def index_database(setup: Setup, given: str | None) -> BuiltIndexes:
    """Build vector indexes for the memories of a database that have become large."""
    address = database_of(setup, given)
    with needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin.index_database(address)
