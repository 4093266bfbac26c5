"""The command line: one file a command, loaded only when called."""

from __future__ import annotations

import sys

import click

from recollect.shells.cli.group import LazyGroup
from recollect.shells.cli.shared import shared_options
from recollect.version import __version__

COMMANDS = {
    "agents": "recollect.shells.cli.agents",
    "cache": "recollect.shells.cli.cache",
    "config": "recollect.shells.cli.config",
    "doctor": "recollect.shells.cli.doctor",
    "eval": "recollect.shells.cli.evaluate",
    "facts": "recollect.shells.cli.facts",
    "get": "recollect.shells.cli.get",
    "hook": "recollect.shells.cli.hook",
    "index": "recollect.shells.cli.index",
    "ingest": "recollect.shells.cli.ingest",
    "install": "recollect.shells.cli.install",
    "mcp": "recollect.shells.cli.mcp",
    "recall": "recollect.shells.cli.recall",
    "remember": "recollect.shells.cli.remember",
    "reset": "recollect.shells.cli.reset",
    "search": "recollect.shells.cli.search",
    "serve": "recollect.shells.cli.serve",
    "sessions": "recollect.shells.cli.sessions",
    "status": "recollect.shells.cli.status",
    "tune": "recollect.shells.cli.tune",
    "verify": "recollect.shells.cli.verify",
    "watch": "recollect.shells.cli.watch",
}


@click.group(
    cls=LazyGroup,
    commands_at=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="recollect")
@shared_options
@click.pass_context
def cli(context: click.Context, /, **given: object) -> None:
    """Search the memory of an AI agent: Markdown notes, by keyword and by meaning together."""
    context.obj = given


def main() -> None:
    """Run the command line and exit with its code."""
    from recollect.shells.cli.fail import run  # noqa: PLC0415 - kept beside what it needs

    sys.exit(run(cli, sys.argv[1:]))
