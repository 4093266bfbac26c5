"""`install`: adds Recollect to an agent's configuration, or removes it again."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from recollect.errors import ConfigError, UsageError
from recollect.shells.cli.output import confirm, write_lines
from recollect.shells.cli.shared import SharedOptions, notify, print_remarks, shared_options
from recollect.shells.render.shared import diff_lines, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.install import Installed, Installer
    from recollect.shape import Json
    from recollect.shells.render.shared import Line

_AGENTS = (
    *("claude", "codex", "cursor", "vscode", "openclaw", "claude-desktop", "opencode", "gemini"),
    *("copilot", "zed", "windsurf", "cline"),
)
_SCOPES = ("user", "project")
_LINE_CHARS = 200  # some programs write their whole file on one line


@click.command("install")
@click.argument("agent_name", metavar="[AGENT]", type=click.Choice(_AGENTS), required=False)
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
    default=False,
    help="With claude and codex: also recall at the start of sessions and turns, and after a "
    "compaction; with opencode, before one.  [default: no-hooks]",
)
@click.option("--yes", is_flag=True, help="Without AGENT: do not ask.")
@shared_options
def install_command(
    options: SharedOptions,
    *,
    agent_name: str | None,
    scope: str | None,
    only_print: bool,
    undo: bool,
    with_hooks: bool,
    yes: bool,
) -> None:
    """Configure AGENT to start `recollect mcp` for the workspace.

    AGENT is claude, codex, cursor, vscode, openclaw, claude-desktop, opencode, gemini, copilot,
    zed, windsurf or cline. Each changed file is shown as a diff. Without AGENT, every agent on
    this machine is configured after one question; with `--scope project`, the current folder for
    any agent.
    """
    from recollect.config.load import wrong_folder  # noqa: PLC0415 - not needed for --help
    from recollect.install import AGENTS, PROJECT, Installer, InstallScope  # noqa: PLC0415

    def installer_of(name: str) -> Installer:
        return Installer.find(
            name,
            options.workspace,
            scope=InstallScope(scope or "user") if agent_name is None or scope else None,
            with_hooks=with_hooks,
            index_agent=options.agent,
            config_file=options.config_file,
        )

    every = AGENTS if scope != "project" else (PROJECT.name,)
    chosen = [installer_of(name) for name in ((agent_name,) if agent_name else every)]
    if agent_name and with_hooks and not (chosen[0].agent.hooks or chosen[0].agent.plugin):
        raise UsageError(f"{chosen[0].agent.title} runs no hooks.", action="Leave out --hooks.")
    trouble = None if undo else wrong_folder(chosen[0].workspace)
    if trouble is not None:
        notify(trouble)
    if agent_name:
        installed = chosen[0].run(undo=undo, write=not only_print)
        print_remarks(_remarks(installed))
        options.print(_json(installed), _text(installed))
        _offer_sessions(options, [installed])
        return
    if scope != "project" and not undo:
        chosen = [each for each in chosen if each.is_here]
    _install_all(options, chosen, undo=undo, write=not only_print, is_sure=yes)


def _install_all(
    options: SharedOptions,
    installers: Sequence[Installer],
    *,
    undo: bool,
    write: bool,
    is_sure: bool,
) -> None:
    """Show what would change, ask once, and change it."""
    plans = [plan for each in installers if (plan := _planned(each, undo=undo))]
    titles = ", ".join(plan.agent.title for plan in plans)
    for plan in [] if options.as_json else plans:
        write_lines([(f"{plan.agent.title}:", "bold"), *_text(plan)])
    if plans and write and not is_sure:
        if not sys.stdin.isatty():
            action = "`--yes` changes the files without a question."
            raise UsageError("There is no terminal to ask on.", action=action)
        write = confirm(f"Change the files of {titles}?")
    if write:
        chosen = {plan.agent.name for plan in plans}
        plans = [each.run(undo=undo) for each in installers if each.agent.name in chosen]
    _offer_sessions(options, plans)
    if not plans:
        sentence = "Nothing to undo." if undo else "There is nothing to set up on this machine."
    elif not write:
        sentence = f"Nothing was changed: {titles}."
    else:
        steps = [f"{plan.agent.title}: {plan.agent.next_step}" for plan in plans]
        steps.append("The same with --undo removes it again.")
        sentence = f"Removed from {titles}." if undo else "\n".join(steps)
    options.print({"agents": [_json(plan) for plan in plans]}, sentence)


def _offer_sessions(options: SharedOptions, installed: Sequence[Installed]) -> None:
    """Say what is missing for hooks to find again what was said before a compaction."""
    from recollect.shells.cli.sessions import ENABLE  # noqa: PLC0415 - not needed for --help

    has_hooks = any(each.hooks_file and not each.is_undo for each in installed)
    if has_hooks and "sessions" not in options.setup(can_ask=False).config.sources:
        sentence = "Hooks find notes and facts, but not what was said: that is not searched."
        print_remarks(warning_lines(sentence, ENABLE))


def _planned(installer: Installer, *, undo: bool) -> Installed | None:
    """Return what would be changed; None if nothing would, or nothing can be."""
    try:
        plan = installer.run(undo=undo, write=False)
    except ConfigError as error:  # a file to edit by hand keeps no other agent waiting
        notify(f"{installer.agent.title}: {error.message} {error.action}\n")
        return None
    if any(each.is_change for each in plan.files):
        return plan
    if not undo:
        notify(f"{installer.agent.title} is already set up.")
    return None


def _text(installed: Installed) -> Iterator[Line]:
    """Yield what was changed, file by file."""
    is_undone = installed.is_undo and any(each.is_change for each in installed.files)
    for each in installed.files:
        if not (each.is_change or is_undone):
            state = "has no entry for Recollect" if installed.is_undo else "is already set up"
            yield f"{each.file}: {state}.", ""
        yield from diff_lines(each.diff, max_chars=_LINE_CHARS)


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
