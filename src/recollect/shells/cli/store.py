"""Databases of many memories: `server init`, `migrate`, `status`, `index`, `copy`, `purge`."""

from __future__ import annotations

import click

from recollect.config import Setup
from recollect.config.databases import (
    copy_memory,
    database_of,
    describe_database,
    index_database,
    prepare_database,
)
from recollect.shape import json_of
from recollect.shells.cli.shared import SharedOptions, shared_options
from recollect.shells.render import store as render
from recollect.shells.render.shared import plural


@click.command("init")
@click.argument("address", required=False)
@click.option("--citus", is_flag=True, help="Shard the tables by agent with Citus.")
@shared_options
def init_database(options: SharedOptions, *, address: str | None, citus: bool) -> None:
    """Create the tables, and the role that agents are granted.

    ADDRESS is postgresql://user@host/database of a role that may create extensions, roles and
    tables. Default: the setting `store`. Running it again changes nothing.
    """
    _prepare(options, address, citus=citus)


@click.command("migrate")
@click.argument("address", required=False)
@shared_options
def migrate_database(options: SharedOptions, *, address: str | None) -> None:
    """Bring the tables up to date after an upgrade of Recollect."""
    _prepare(options, address, citus=False)


@click.command("status")
@click.argument("address", required=False)
@shared_options
def show_database(options: SharedOptions, *, address: str | None) -> None:
    """Show the server, its extensions and the version of the tables."""
    status = describe_database(database_of(_setup(options), address))
    options.print(status, render.database_text(status))
    if status.version != status.newest:
        raise click.exceptions.Exit(1)


@click.command("index")
@click.argument("address", required=False)
@shared_options
def index_vectors(options: SharedOptions, *, address: str | None) -> None:
    """Build vector indexes for the memories that have become large.

    Agents search and write meanwhile. Run it once a day, with a role that sees all memories.
    """
    done = index_database(database_of(_setup(options), address))
    options.print(done, render.indexed_text(done))


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@shared_options
def copy_agent(options: SharedOptions, *, source: str, target: str) -> None:
    """Copy one agent's index from one store to another, and compare the two.

    FROM and TO are `file:` (the agent's index in the home), `file:PATH` or postgresql://… . What TO
    held of this agent is replaced. Set `store` to the new address afterwards.
    """
    setup = _setup(options)
    copied = copy_memory(setup, source, target)
    options.print(
        {"agent": setup.agent, **json_of(copied), "verified": True},
        render.copied_text(copied, agent=setup.agent),
    )


@click.command("purge")
@click.argument("memory")
@click.argument("path")
@click.option("--keep-current", is_flag=True, help="Delete only the earlier versions.")
@shared_options
def purge_document(options: SharedOptions, *, memory: str, path: str, keep_current: bool) -> None:
    """Delete a pushed document with all its versions.

    MEMORY is the id of an agent. The document at PATH may already be deleted. The setting
    `store` names the database.
    """
    from recollect.hosting.host import MemoryHost  # noqa: PLC0415 - heavy
    from recollect.hosting.tokens import named_agent  # noqa: PLC0415

    options.require_config_file()
    with (
        MemoryHost.open(config_file=options.config_file) as host,
        host.memory(named_agent(memory), purpose="recollect server purge") as opened,
    ):
        purged = opened.pushed.purge(path, keep_current=keep_current)
    options.print(
        {"memory": memory, "path": path, "versions": purged},
        f"Deleted {plural(purged, 'version')} of {path}.",
    )


def _prepare(options: SharedOptions, address: str | None, *, citus: bool) -> None:
    where = database_of(_setup(options), address)
    applied = prepare_database(where, citus=citus)
    status = describe_database(where)
    options.print({**json_of(status), "applied": applied}, render.prepared_text(status, applied))


def _setup(options: SharedOptions) -> Setup:
    return Setup.of(
        options.workspace,
        agent=options.agent,
        config_file=options.config_file,
        settings=None,
        environ=None,
    )


STORE_COMMANDS = (
    init_database,
    migrate_database,
    show_database,
    index_vectors,
    copy_agent,
    purge_document,
)
