"""Keeping the index: `index`, `reset`."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from recollect.errors import (
    NotFoundError,
    RecollectError,
    StoreDiskError,
    StoreTooNewError,
    UsageError,
)
from recollect.shells.cli.output import confirm, write_json, write_lines, write_text
from recollect.shells.cli.serve import limit_arenas
from recollect.shells.cli.shared import (
    SharedOptions,
    notify,
    print_remarks,
    progress_bar,
    shared_options,
)
from recollect.shells.render import status as render

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.memory import Memory
    from recollect.reports import Report

_WAKE_SECONDS = 0.5


def _require_file(memory: Memory) -> None:
    """Refuse to build an index that would be gone when the command ends."""
    if memory.config.store == "ram:":
        raise UsageError(
            "The setting `store` is `ram:`: the index would be lost when this command ends.",
            action="Set it to `file:`, or use `recollect serve`, which keeps its own index.",
        )


@click.command("index")
@click.option("--force", is_flag=True, help="Read every file again, even if it looks unchanged.")
@click.option("--watch", is_flag=True, help="Keep the index up to date until stopped (Ctrl-C).")
@shared_options
def index_command(options: SharedOptions, *, force: bool, watch: bool) -> int:
    """Update the index to match the files; exit 1 if nothing could be embedded."""
    if watch:
        _watch(options)
        return 0
    with options.open_memory() as memory, progress_bar() as progress:
        _require_file(memory)
        report = memory.sync(force=force, progress=progress, on_wait=notify)
    print_remarks(render.report_remarks(report))
    options.print(report, render.report_text(report))
    return 1 if report.is_nothing_embedded else 0


def _watch(options: SharedOptions) -> None:
    limit_arenas()
    signals: list[int] = []
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda number, _: signals.append(number))
    with options.open_memory(can_ask=False) as memory:
        _require_file(memory)
        worker = memory.worker(
            on_sync=lambda ended: _print_sync(ended, as_json=options.as_json), on_notice=notify
        )
        notify(f"Watching {memory.workspace}. Stop with Ctrl-C.")
        worker.start()
        # A signal may be delivered to another thread, which does not wake this one: poll.
        while not signals:
            time.sleep(_WAKE_SECONDS)
        worker.stop()


def _print_sync(ended: Report | RecollectError, *, as_json: bool) -> None:
    """Print what a sync changed; with --json one line each, since there is no last one."""
    if isinstance(ended, RecollectError):
        notify(f"{ended.message}\n  → {ended.action}")
        return
    print_remarks(render.report_remarks(ended))
    if as_json:
        write_json(ended)
    elif ended.added or ended.changed or ended.moved or ended.removed or ended.embedded:
        write_lines(render.report_text(ended))


@click.command("reset")
@click.argument("other", metavar="[AGENT]", required=False)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@shared_options
def reset_command(options: SharedOptions, *, other: str | None, yes: bool) -> None:
    """Delete the index. Your files are not touched and can be indexed again.

    AGENT names another index of this home, as `recollect status --all` lists them.
    """
    if not yes and (options.as_json or not sys.stdin.isatty()):
        raise click.UsageError("reset asks for confirmation: add --yes.")
    if other is not None:
        _remove_other(options, other, yes=yes)
        return
    try:
        with options.open_memory(may_be_empty=True) as memory:
            workspace, agent = memory.workspace, memory.agent
            if not yes and not confirm(f"Delete the index of {workspace}?"):
                write_text("Nothing was deleted.")
                return
            memory.reset()
    except (StoreTooNewError, StoreDiskError):
        if not yes:
            raise
        workspace, agent = _delete_unopened(options)
    options.print({"ok": True, "agent": agent}, f"The index of {workspace} is now empty.")


def _remove_other(options: SharedOptions, name: str, *, yes: bool) -> None:
    """Delete the index file of another agent."""
    from recollect.config import agents  # noqa: PLC0415 - loads SQLite

    if not agents.has_agent(name):
        raise NotFoundError(
            f"There is no index for agent {name!r}.", action="`recollect status --all` lists them."
        )
    if not yes and not confirm(f"Delete the index of {name}?"):
        write_text("Nothing was deleted.")
        return
    agents.remove_agent(name)
    options.print({"ok": True, "agent": name}, f"Deleted the index of {name}.")


def _delete_unopened(options: SharedOptions) -> tuple[Path, str]:
    """Delete an index that this version cannot open; return its workspace and agent."""
    from recollect.config.agents import remove_agent  # noqa: PLC0415 - loads SQLite

    setup = options.setup(can_ask=False)
    remove_agent(setup.agent)
    return setup.workspace, setup.agent
