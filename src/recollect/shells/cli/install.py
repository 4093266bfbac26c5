"""`recollect install`: tell an agent of this memory, and take that back."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.shells.cli.shared import given, print_json, print_lines, say, shared_options

_AGENTS = ("claude", "codex", "cursor", "vscode", "openclaw")
_SCOPES = ("user", "project")


@click.command("install")
@click.argument("agent_name", metavar="AGENT", type=click.Choice(_AGENTS))
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    help="All your sessions, or those in the current folder.  [default: user; vscode: project]",
)
@click.option("--print", "only_print", is_flag=True, help="Change nothing, show what would be.")
@click.option("--undo", is_flag=True, help="Take out what was written, and nothing else.")
@click.option(
    "--hooks/--no-hooks",
    "with_hooks",
    default=True,
    help="With claude: also recall at the start of sessions and turns.  [default: hooks]",
)
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    agent_name: str,
    scope: str | None,
    only_print: bool,
    undo: bool,
    with_hooks: bool,
    **options: object,
) -> None:
    """Write the configuration of AGENT so that it starts `recollect mcp` for the workspace.

    AGENT is claude, codex, cursor, vscode or openclaw. Every file that changes is shown as a diff.
    """
    from recollect.config.peek import peek  # noqa: PLC0415 - as what follows
    from recollect.install import Installer, InstallScope  # noqa: PLC0415 - not needed for --help
    from recollect.shells.render import install as render  # noqa: PLC0415

    common = given(context, options)
    workspace, config_file = common["workspace"], common["config_file"]
    installer = Installer.find(
        agent_name,
        Path(str(workspace)) if workspace is not None else None,
        scope=InstallScope(scope) if scope else None,
        with_hooks=with_hooks,
        index_agent=str(common["agent"]) if common["agent"] is not None else None,
        config_file=Path(str(config_file)) if config_file is not None else None,
    )
    trouble = None if undo else peek(installer.workspace).trouble
    if trouble is not None:
        say(trouble)
    run = installer.undo if undo else installer.install
    installed = run(write=not only_print)
    print_lines(render.installed_remarks(installed), to_stderr=True)
    if common["as_json"]:
        print_json(render.installed_json(installed))
    else:
        print_lines(render.installed_text(installed))
