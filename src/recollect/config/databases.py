"""Databases that many agents share: their tables, and moving a memory into or out of one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError, StoreError
from recollect.stores.copy import copy_pushed, copy_store, differences, pushed_differences
from recollect.stores.notes import workspace_of
from recollect.stores.pushed import PUSHED
from recollect.stores.registry import (
    is_database,
    needing_psycopg,
    open_host,
    open_store,
    parse_address,
    remove_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.config.load import Setup
    from recollect.reports import BuiltIndexes, CopiedMemory, DatabaseStatus
    from recollect.stores.base import Store

_FILE = "file:"
_SHOWN = 5  # differences in an error


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


def copy_memory(setup: Setup, source: str, target: str) -> CopiedMemory:
    """Copy this agent's memory from one address to another and compare the two.

    A memory of pushed documents is copied with them, from one database to another.

    Raises:
        ConfigError: an address is wrong.
        StoreError: a store cannot be used, or the copy is not the same.

    """
    source, target = _full(setup, source), _full(setup, target)
    if source == target:
        raise ConfigError("Both addresses name the same store.", action="Name another one as TO.")
    with _removed_if_failed(source), contextlib.closing(_open(setup, source)) as old:
        if not old.holds():
            raise StoreError(
                f"{old.location} holds nothing for the agent {setup.agent}.",
                action="Name the agent with --agent, or the workspace with -w.",
            )
        is_pushed = workspace_of(old) == PUSHED
        if is_pushed and target.startswith(_FILE):
            raise StoreError(
                f"The memory {setup.agent} in {old.location} is made from pushed documents, which "
                "a file does not hold.",
                action="Copy it to another database, or push its folder again.",
            )
        with _removed_if_failed(target), contextlib.closing(_open(setup, target)) as new:
            if workspace_of(new) == PUSHED and not is_pushed:
                raise StoreError(
                    f"The memory {setup.agent} in {new.location} is made from pushed documents: a "
                    "copy would take the place of their index.",
                    action="Name another agent with --agent, or use `recollect server push`.",
                )
            copied = copy_store(old, new)
            wrong = list(differences(old, new))
            if is_pushed:
                wrong += _copy_documents(setup, source, target)
            if wrong:
                raise StoreError(
                    f"The copy in {new.location} differs: {'; '.join(wrong[:_SHOWN])}.",
                    action="Run it again while nothing else writes to either of them.",
                )
    return copied


def _copy_documents(setup: Setup, source: str, target: str) -> list[str]:
    """Copy pushed documents; return where the copy differs."""
    limits, agent = setup.config.limits, setup.agent
    with (
        contextlib.closing(open_host(source, limits=limits)) as old_host,
        contextlib.closing(open_host(target, limits=limits)) as new_host,
        contextlib.closing(old_host.pushed(agent)) as old,
        contextlib.closing(new_host.pushed(agent)) as new,
        contextlib.closing(new_host.queue()) as queue,
    ):
        copy_pushed(old, new)
        queue.add(agent)  # there may be texts that no worker has embedded yet
        return list(pushed_differences(old, new))


@contextlib.contextmanager
def _removed_if_failed(address: str) -> Iterator[None]:
    """Leave no file behind that was only created by opening it for a copy that failed."""
    file = Path(address.removeprefix(_FILE)) if address.startswith(_FILE) else None
    is_new = file is not None and not file.exists()
    try:
        yield
    except BaseException:
        if file is not None and is_new:
            remove_file(file)
        raise


def _open(setup: Setup, address: str) -> Store:
    return open_store(address, agent=setup.agent)[0]


def _full(setup: Setup, address: str) -> str:
    """Return an address as `open_store` takes it; `file:` alone is the agent's own index."""
    if address == _FILE:
        return f"{_FILE}{setup.index}"
    if address.startswith(_FILE):
        return f"{_FILE}{Path(address.removeprefix(_FILE)).expanduser().resolve()}"
    return database_of(setup, address)
