"""`install`: adds Recollect to an agent's configuration, or removes it again."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import SharedOptions, notify, print_remarks, shared_options
from recollect.shells.render import install as render

_AGENTS = ("claude", "codex", "cursor", "vscode", "openclaw")
_SCOPES = ("user", "project")


@click.command("install")
@click.argument("agent_name", metavar="AGENT", type=click.Choice(_AGENTS))
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    help="All your sessions, or those in the current folder.  [default: user; vscode: project]",
)
@click.option("--print", "only_print", is_flag=True, help="Only show what would change.")
@click.option("--undo", is_flag=True, help="Remove what was added, and nothing else.")
@click.option(
    "--hooks/--no-hooks",
    "with_hooks",
    default=True,
    help="With claude: also recall at the start of sessions and turns.  [default: hooks]",
)
@shared_options
def install_command(
    options: SharedOptions,
    *,
    agent_name: str,
    scope: str | None,
    only_print: bool,
    undo: bool,
    with_hooks: bool,
) -> None:
    """Configure AGENT to start `recollect mcp` for the workspace.

    AGENT is claude, codex, cursor, vscode or openclaw. Each changed file is shown as a
    diff.
    """
    from recollect.config.load import wrong_folder  # noqa: PLC0415 - not needed for --help
    from recollect.install import Installer, InstallScope  # noqa: PLC0415

    installer = Installer.find(
        agent_name,
        options.workspace,
        scope=InstallScope(scope) if scope else None,
        with_hooks=with_hooks,
        index_agent=options.agent,
        config_file=options.config_file,
    )
    trouble = None if undo else wrong_folder(installer.workspace)
    if trouble is not None:
        notify(trouble)
    run = installer.undo if undo else installer.install
    installed = run(write=not only_print)
    print_remarks(render.installed_remarks(installed))
    options.print(render.installed_json(installed), render.installed_text(installed))
