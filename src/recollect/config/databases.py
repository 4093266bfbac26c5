"""Databases that many agents share, as an operator uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.stores.registry import is_database, needing_psycopg, parse_address

if TYPE_CHECKING:
    from types import ModuleType


def operator_of(store: str, given: str | None) -> tuple[ModuleType, str]:
    """Return what an operator does with a database, and its address: as given, or as `store` is."""
    try:
        address = parse_address(given or store)
    except ValueError as error:
        raise ConfigError("This is not the address of a store.", action=f"Give {error}.") from None
    if not is_database(address):
        raise ConfigError(
            f"`store` is {address}, which is not a database.",
            action="Give the address of one, postgresql://user@host/database.",
        )
    with needing_psycopg():
        from recollect.stores.postgres import admin  # noqa: PLC0415 - heavy

    return admin, address


def is_of_many(store: str) -> bool:
    """Return whether the setting `store` names a database of many memories."""
    return is_database(parse_address(store))
