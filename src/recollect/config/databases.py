"""Databases that many agents share: their tables, and moving a memory into or out of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError, StoreError
from recollect.stores.copy import copy_store, differences
from recollect.stores.pushed import PUSHED
from recollect.stores.registry import (
    describe_database,
    index_database,
    open_store,
    parse_address,
    prepare_database,
)

if TYPE_CHECKING:
    from recollect.config import Setup
    from recollect.reports import CopiedMemory
    from recollect.stores.base import Store

__all__ = ["copy_memory", "database_of", "describe_database", "index_database", "prepare_database"]

_FILE = "file:"
_SHOWN = 5  # differences in an error


def database_of(setup: Setup, given: str | None) -> str:
    """Return the address of a database: the one given, or the one that the settings name.

    Raises:
        ConfigError: it is not the address of a database.

    """
    address = given or setup.config.store
    try:
        is_database = parse_address(address) not in (_FILE, "ram:")
    except ValueError as error:
        raise ConfigError("This is not the address of a store.", action=f"Give {error}.") from None
    if not is_database:
        raise ConfigError(
            f"`store` is {address}, which is not a database.",
            action="Give the address of one, postgresql://user@host/database.",
        )
    return address


def copy_memory(setup: Setup, source: str, target: str) -> CopiedMemory:
    """Copy this agent's memory from one address to another and compare the two.

    Raises:
        ConfigError: an address is wrong.
        StoreError: a store cannot be used, or the copy is not the same.

    """
    old, _ = open_store(_full(setup, source), agent=setup.agent)
    try:
        if old.is_empty():
            raise StoreError(
                f"{old.location} holds nothing of the agent {setup.agent}.",
                action="Name the agent with --agent, or the workspace with -w.",
            )
        _require_files(
            old,
            setup.agent,
            what="copying its index would leave the documents themselves behind",
            action="Move the database with pg_dump, or push the folder to the other one.",
        )
        new, _ = open_store(_full(setup, target), agent=setup.agent)
        try:
            _require_files(
                new,
                setup.agent,
                what="a copy would take the place of their index",
                action="Name another agent with --agent, or use `recollect push`.",
            )
            copied = copy_store(old, new)
            wrong = list(differences(old, new))
            if wrong:
                raise StoreError(
                    f"The copy in {new.location} differs: {'; '.join(wrong[:_SHOWN])}.",
                    action="Run it again while nothing else writes to either of them.",
                )
        finally:
            new.close()
    finally:
        old.close()
    return copied


def _require_files(store: Store, agent: str, *, what: str, action: str) -> None:
    """Refuse a memory whose documents are nowhere but in its store."""
    if store.workspace() == PUSHED:
        raise StoreError(
            f"The memory {agent} in {store.location} is made from pushed documents: {what}.",
            action=action,
        )


def _full(setup: Setup, address: str) -> str:
    """Return an address as `open_store` takes it; `file:` alone is the agent's own index."""
    if address == _FILE:
        return f"{_FILE}{setup.index}"
    if address.startswith(_FILE):
        return f"{_FILE}{Path(address.removeprefix(_FILE)).expanduser().resolve()}"
    return database_of(setup, address)
