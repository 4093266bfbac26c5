"""`recollect status`: what is indexed, by whom, what is stale and why."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)


@click.command("status")
@click.option("--deep", is_flag=True, help="Also embed one text to see that the provider works.")
@shared_options
@click.pass_context
def command(context: click.Context, /, *, deep: bool, **options: object) -> None:
    """Show the index, the provider and what is stale."""
    from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        status = memory.status(deep=deep)
    if common["as_json"]:
        print_json(render_status.status_json(status))
    else:
        print_lines(render_status.status_text(status))
