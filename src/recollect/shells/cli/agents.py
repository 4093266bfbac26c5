"""`recollect agents`: the memories of this home."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import given, print_json, print_lines, shared_options


@click.group("agents", invoke_without_command=True)
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """List the indexes of this home and whose they are, or remove one."""
    context.obj = given(context, options)
    if context.invoked_subcommand is not None:
        return
    from recollect.config.agents import list_agents  # noqa: PLC0415 - pulls in SQLite
    from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

    agents = list_agents()
    if context.obj["as_json"]:
        print_json(render_status.agents_json(agents))
    else:
        print_lines(render_status.agents_text(agents))


@command.command("remove")
@click.argument("name", metavar="AGENT")
@click.option("--yes", is_flag=True, required=True, help="Do it without asking.")
@shared_options
@click.pass_context
def remove(context: click.Context, /, *, name: str, yes: bool, **options: object) -> None:
    """Delete the index of AGENT; the files it came from are not touched."""
    from recollect.config.agents import remove_agent  # noqa: PLC0415 - pulls in SQLite
    from recollect.errors import NotFoundError  # noqa: PLC0415 - not needed for --help

    del yes
    if not remove_agent(name):
        raise NotFoundError(
            f"No agent {name!r} has an index here.", action="`recollect agents` shows which have."
        )
    if given(context, options)["as_json"]:
        print_json({"removed": name})
    else:
        print_lines([(f"The index of {name} is removed.", "")])
