"""`recollect reset`: drop the derived index."""

from __future__ import annotations

import sys

import click

from recollect.shells.cli.shared import given, open_memory, print_json, shared_options


@click.command("reset")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@click.pass_context
def command(context: click.Context, /, *, yes: bool, **options: object) -> None:
    """Drop the index; your files stay as they are and can be indexed again."""
    common = given(context, options)
    if not yes and (common["as_json"] or not sys.stdin.isatty()):
        raise click.UsageError("reset asks before it drops the index: add --yes.")
    with open_memory(common) as memory:
        if not yes and not click.confirm(f"Drop the index of {memory.workspace}?", err=True):
            click.echo("Nothing was dropped.")
            return
        memory.reset()
    if common["as_json"]:
        print_json({"ok": True, "agent": memory.agent})
    else:
        click.echo(f"The index of {memory.workspace} is empty now.")
