"""`server push`: brings the notes of a folder to a memory of a server."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import click

from recollect.errors import UsageError
from recollect.shells.cli.shared import SharedOptions, print_remarks, shared_options


@click.command("push")
@click.argument("folder", metavar="WORKSPACE", type=click.Path(path_type=Path, file_okay=False))
@click.argument("url")
@click.option("--dry-run", is_flag=True, help="Only compare, change nothing.")
@shared_options
def push_command(options: SharedOptions, *, folder: Path, url: str, dry_run: bool) -> None:
    """Make a memory on a server match the notes of a workspace.

    URL is https://HOST/api/memories/AGENT; its token is read from RECOLLECT_TOKEN. Only
    differences are sent, including deletions. Pages of facts are added, never replaced.
    """
    from recollect.config import Setup  # noqa: PLC0415 - not needed for --help
    from recollect.hosting.push import RemoteMemory, push  # noqa: PLC0415
    from recollect.shells.guard import TOKEN_VARIABLE  # noqa: PLC0415
    from recollect.shells.render import push as render  # noqa: PLC0415

    options.require_config_file()
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise UsageError(
            f"{TOKEN_VARIABLE} is not set.",
            action="Set it to a token of the memory: `recollect server tokens create` makes one.",
        )
    setup = Setup.of(
        folder, agent=options.agent, config_file=options.config_file, settings=None, environ=None
    )
    with closing(RemoteMemory(url, token)) as remote:
        report = push(setup, remote, dry_run=dry_run)
    print_remarks(render.push_remarks(report))
    options.print(report, render.push_text(report, dry_run=dry_run))
