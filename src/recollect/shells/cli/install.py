"""`install`: adds Recollect to an agent's configuration, or removes it again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import SharedOptions, notify, print_remarks, shared_options
from recollect.shells.render.shared import diff_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.install import Installed
    from recollect.shape import Json
    from recollect.shells.render.shared import Line

_AGENTS = ("claude", "codex", "cursor", "vscode", "openclaw")
_SCOPES = ("user", "project")
_LINE_CHARS = 200  # some programs write their whole file on one line


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
    print_remarks(_remarks(installed))
    options.print(_json(installed), _text(installed))


def _text(installed: Installed) -> Iterator[Line]:
    """Yield what was changed, file by file."""
    if not installed.is_written and not installed.is_undo:
        yield from _to_be_written(installed)
        return
    for each in installed.files:
        if not each.is_change:
            state = "has no entry for Recollect" if installed.is_undo else "is already set up"
            yield f"{each.file}: {state}.", ""
        yield from diff_lines(each.diff, max_chars=_LINE_CHARS)


def _to_be_written(installed: Installed) -> Iterator[Line]:
    for each in installed.files:
        yield f"{each.file}:", "bold"
        if not each.is_change:
            yield "It is already set up.", ""
        elif each.before is None:
            for line in installed.snippets[each.file].splitlines():
                yield line, ""
        else:
            yield from diff_lines(each.diff, max_chars=_LINE_CHARS)
        yield "", ""


def _remarks(installed: Installed) -> Iterator[Line]:
    """Yield the command that the agent runs, and what is left to do."""
    agent, launch = installed.agent, installed.launch
    if installed.is_undo:
        if any(each.is_change for each in installed.files):
            verb = "was removed" if installed.is_written else "would be removed"
            yield f"Recollect {verb} from {agent.title}.", "bold"
        return
    command, arguments = launch.server
    yield f"{agent.title} runs: {shlex.join([command, *arguments])}", "bold"
    if installed.hooks_file is not None:
        is_user = installed.scope.value == "user"
        where = "all your sessions, in any folder" if is_user else "sessions in this folder"
        yield f"Its hooks recall from {installed.workspace} in {where}:", ""
        narrower = " (--scope project: only in this folder)" if is_user else ""
        yield f"{installed.hooks_file}{narrower}", ""
    if installed.is_written:
        yield agent.next_step, ""
        undo = shlex.join(["install", agent.name, "--scope", installed.scope.value, "--undo"])
        yield f"`recollect {undo}` removes it again.", ""


def _json(installed: Installed) -> Json:
    """Return the JSON of `install`."""
    command, arguments = installed.launch.server
    return {
        "agent": installed.agent.name,
        "scope": installed.scope,
        "workspace": installed.workspace,
        "undo": installed.is_undo,
        "written": installed.is_written,
        "command": [command, *arguments],
        "env": installed.launch.environ,
        "files": [
            {
                "path": each.file,
                "changed": each.is_change,
                "exists": each.after is not None,
                "diff": each.diff or None,
                "snippet": installed.snippets[each.file],
            }
            for each in installed.files
        ],
    }
