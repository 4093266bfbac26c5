"""`recollect agents`: the memories of this home."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import given, print_json, print_lines, shared_options


@click.command("agents")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """List the indexes of this home and whose they are."""
    from recollect.agents import list_agents  # noqa: PLC0415 - pulls in SQLite
    from recollect.shells import render_status  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    agents = list_agents()
    if common["as_json"]:
        print_json(render_status.agents_json(agents))
    else:
        print_lines(render_status.agents_text(agents))
