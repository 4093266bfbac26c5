"""Many memories in one PostgreSQL database: the group `server`."""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.config.databases import is_of_many, operator_of
from recollect.errors import RecollectError, UsageError
from recollect.shape import json_of
from recollect.shells.cli.output import write_json
from recollect.shells.cli.serve import limit_arenas
from recollect.shells.cli.shared import (
    COMING_DAY,
    Group,
    SharedOptions,
    notify,
    print_remarks,
    shared_options,
)
from recollect.shells.render.shared import plural, table
from recollect.shells.sign_ins import SignIns
from recollect.text.days import end_of

if TYPE_CHECKING:
    from datetime import date
    from types import ModuleType

    from recollect.hosting.host import MemoryHost
    from recollect.hosting.tokens import Token
    from recollect.reports import DatabaseStatus, Report

_WAKE_SECONDS = 0.2


@click.group("server", cls=Group)
@shared_options
def server_command(_options: SharedOptions) -> None:
    """Set up and run a PostgreSQL database of many memories, and push notes to one of them."""


@server_command.command("init")
@click.argument("address", required=False)
@click.option("--citus", is_flag=True, help="Shard the tables by agent with Citus.")
@shared_options
def init_database(options: SharedOptions, *, address: str | None, citus: bool) -> None:
    """Create the tables and the role that agents are granted, or update them after an upgrade.

    ADDRESS is postgresql://user@host/database of a role that may create extensions, roles and
    tables. Default: the setting `store`. Running it again changes nothing.
    """
    admin, address = _operator(options, address)
    applied, status = admin.prepare_database(address, citus=citus), admin.describe_database(address)
    done = f"Applied: {', '.join(applied)}." if applied else "The tables were up to date."
    role = f"Agents need their own role: CREATE ROLE … LOGIN IN ROLE {status.groups['agents']}"
    text = f"{done}\n{role}\n{database_text(status)}"
    options.print({**json_of(status), "applied": applied}, text)


@server_command.command("status")
@click.argument("address", required=False)
@shared_options
def show_database(options: SharedOptions, *, address: str | None) -> None:
    """Show the server, its extensions and the version of the tables."""
    admin, address = _operator(options, address)
    status = admin.describe_database(address)
    options.print(status, database_text(status))
    if status.version != status.newest:
        raise click.exceptions.Exit(1)


@server_command.command("index")
@click.argument("address", required=False)
@shared_options
def index_vectors(options: SharedOptions, *, address: str | None) -> None:
    """Build vector indexes for the memories that have become large.

    Agents search and write meanwhile. Run it once a day, with a role that sees all memories.
    """
    admin, address = _operator(options, address)
    done = admin.index_database(address)
    options.print(done, f"Vector indexes: {done.built} built, {done.dropped} dropped.")


@server_command.command("purge")
@click.argument("memory")
@click.argument("path")
@click.option("--keep-current", is_flag=True, help="Delete only the earlier versions.")
@shared_options
def purge_document(options: SharedOptions, *, memory: str, path: str, keep_current: bool) -> None:
    """Delete a pushed document with all its versions.

    MEMORY is the id of an agent. The document at PATH may already be deleted. The setting
    `store` names the database.
    """
    from recollect.hosting.tokens import named_agent  # noqa: PLC0415 - not needed for --help

    with (
        _host(options) as host,
        host.memory(named_agent(memory), purpose="recollect server purge") as opened,
    ):
        purged = opened.pushed.purge(path, keep_current=keep_current)
    options.print(
        {"memory": memory, "path": path, "versions": purged},
        f"Deleted {plural(purged, 'version')} of {path}.",
    )


@server_command.group("tokens")
@shared_options
def tokens_command(_options: SharedOptions) -> None:
    """Create and revoke tokens for the memories that `recollect serve --memories` serves.

    They are stored in the database that the setting `store` names, as digests.
    """


@tokens_command.command("create")
@click.argument("memory")
@click.option("--read-only", is_flag=True, help="Allow reading only.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Show only global facts and those of this scope; may be repeated.",
)
@click.option(
    "--expires",
    type=COMING_DAY,
    help="The last day on which it works: 2027-02-01, or 90d from now.  [default: never]",
)
@click.option("--label", default="", help="What it is for.")
@shared_options
def create(
    options: SharedOptions,
    *,
    memory: str,
    read_only: bool,
    scopes: tuple[str, ...],
    expires: date | None,
    label: str,
) -> None:
    """Create a token for a memory, and show it once.

    MEMORY is the id of an agent; a new memory is created with its first document.
    """
    from recollect.hosting.tokens import create_token  # noqa: PLC0415 - not needed for --help

    with _host(options) as host:
        token, text = create_token(
            host.database,
            memory,
            now=datetime.now(tz=UTC),
            label=label,
            scopes=scopes or None,
            is_read_only=read_only,
            expires=end_of(expires),
        )
    lines = [(text, "bold"), (f"{_rights(token)}. It is not shown again.", "")]
    options.print({**json_of(token), "token": text}, lines)


@tokens_command.command("list")
@click.argument("memory", required=False)
@shared_options
def list_tokens(options: SharedOptions, *, memory: str | None) -> None:
    """List the tokens of a memory, or of all, without their secret part.

    The programs that signed in to the memory of this workspace (`--oauth`) are listed too.
    """
    setup = options.setup(can_ask=False)
    signed_in = SignIns.of(setup).listed()
    found: list[Token] = []
    is_shared = is_of_many(setup.config.store)
    if is_shared or memory:
        with _host(options) as host:
            found = host.database.tokens(memory)
    rows = [[each.id, _rights(each), each.label] for each in found]
    rows += [[each.id, f"signed in {each.renewed:%Y-%m-%d}", each.client] for each in signed_in]
    create = "No tokens. `recollect server tokens create MEMORY` makes one."
    nothing = create if is_shared else "No program has signed in."
    options.print({"tokens": found, "signedIn": signed_in}, table(rows) or nothing)


@tokens_command.command("revoke")
@click.argument("token_id", metavar="ID")
@shared_options
def revoke(options: SharedOptions, *, token_id: str) -> None:
    """Revoke a token at once, given by its id."""
    from recollect.hosting.tokens import revoke_token  # noqa: PLC0415 - not needed for --help

    if not SignIns.of(options.setup(can_ask=False)).revoke(token_id):
        with _host(options) as host:
            revoke_token(host.database, token_id)
    options.print({"revoked": token_id}, f"Revoked {token_id}.")


def _operator(options: SharedOptions, given: str | None) -> tuple[ModuleType, str]:
    return operator_of(options.setup(can_ask=False).config.store, given)


def _host(options: SharedOptions) -> MemoryHost:
    from recollect.hosting.host import MemoryHost  # noqa: PLC0415 - heavy

    options.require_config_file()
    return MemoryHost.open(config_file=options.config_file)


@server_command.command("push")
@click.argument("folder", metavar="WORKSPACE", type=click.Path(path_type=Path, file_okay=False))
@click.argument("url")
@click.option("--dry-run", is_flag=True, help="Only compare, change nothing.")
@shared_options
def push_command(options: SharedOptions, *, folder: Path, url: str, dry_run: bool) -> None:
    """Make a memory on a server match the notes of a workspace.

    URL is https://HOST/api/memories/AGENT; its token is read from RECOLLECT_TOKEN. Only
    differences are sent, including deletions. Pages of facts are added, never replaced.
    """
    from recollect.hosting.push import RemoteMemory, push  # noqa: PLC0415 - not needed for --help
    from recollect.shells.guard import TOKEN_VARIABLE  # noqa: PLC0415

    options.require_config_file()
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise UsageError(
            f"{TOKEN_VARIABLE} is not set.",
            action="Set it to a token of the memory: `recollect server tokens create` makes one.",
        )
    setup = replace(options, workspace=folder).setup(can_ask=False)
    with closing(RemoteMemory(url, token)) as remote:
        report = push(setup, remote, dry_run=dry_run)
    if report.redacted:
        notify(f"Secrets were masked in {plural(report.redacted, 'document')}.")
    print_remarks((each.notice, "yellow") for each in report.failed)
    would = "would be sent" if dry_run else "sent"
    options.print(
        report,
        f"{plural(report.sent, 'document')} {would}, {report.deleted} deleted, "
        f"{report.unchanged} unchanged.",
    )


@server_command.command("worker")
@click.option("--once", is_flag=True, help="Stop when the queue is empty.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="First queue every memory that has a token, for example after changing the model.",
)
@shared_options
def worker_command(options: SharedOptions, *, once: bool, everything: bool) -> None:
    """Embed what was pushed to the memories of a database, until stopped (Ctrl-C).

    Any number of workers share the work of the database that the setting `store` names.
    """
    from recollect.hosting.work import QueueWorker  # noqa: PLC0415 - not needed for --help

    limit_arenas()
    logging.basicConfig(level=logging.WARNING, format="recollect server worker: %(message)s")

    def print_sync(agent: str, ended: Report | RecollectError) -> None:
        if isinstance(ended, RecollectError):
            notify(f"{agent}: {ended.message}\n  → {ended.action}")
        elif options.as_json:
            write_json({"memory": agent, **json_of(ended)})
        else:
            notify(f"{agent}: {ended.embedded} texts embedded, {ended.pending} left.")

    with _host(options) as host:
        worker = QueueWorker(host, on_sync=print_sync)
        if everything:
            host.database.enqueue_all()
        if once:
            while worker.work_once():
                pass
            return
        signals: list[int] = []
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda number, _: signals.append(number))
        worker.start()
        notify("Working. Stop with Ctrl-C.")
        while not signals:
            time.sleep(_WAKE_SECONDS)
        worker.stop()


def database_text(status: DatabaseStatus) -> str:
    """Return the lines of `server status`."""
    state = "up to date" if status.version == status.newest else "run `recollect server init`"
    lines = [
        f"Database:   {status.location}",
        f"Server:     PostgreSQL {status.server}",
        *(f"Extension:  {name} {version}" for name, version in status.extensions.items()),
        f"Tables:     version {status.version} of {status.newest}, {state}",
    ]
    if status.rows:
        counts = (f"{count:,} {what}" for what, count in status.rows.items())
        lines.append(f"Rows:       about {', '.join(counts)}")
    lines += [f"Group:      {role} for {who}" for who, role in status.groups.items()]
    if status.has_open_temp:
        lines.append("Warning:    any role may create temporary objects; roles.sql revokes that")
    if not status.is_guarded:
        lines.append("Role:       sees the memories of all agents; give agents another one")
    return "\n".join(lines)


def _rights(token: Token) -> str:
    may = "reads" if token.is_read_only else "reads and writes"
    if token.scopes is not None:
        may += f", facts of {', '.join(['global', *sorted(token.scopes)])}"
    if token.expires is not None:
        may += f", until {token.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{token.agent}: {may}"
