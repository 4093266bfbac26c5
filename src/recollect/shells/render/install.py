"""What `install` prints: the diff of each file, or what would be written."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from recollect.install.agents import InstallScope
from recollect.shells.render.shared import diff_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.install import Installed
    from recollect.shape import Json
    from recollect.shells.render.shared import Line

_LINE_CHARS = 200  # some programs write their whole file on one line


def installed_text(installed: Installed) -> Iterator[Line]:
    """Yield what was changed, file by file."""
    if not installed.is_written and not installed.is_undo:
        yield from _to_be_written(installed)
        return
    for each in installed.files:
        if not each.is_change:
            state = "has no entry for Recollect" if installed.is_undo else "is already set up"
            yield f"{each.file}: {state}.", ""
        yield from diff_lines(each.diff, max_chars=_LINE_CHARS)


def installed_remarks(installed: Installed) -> Iterator[Line]:
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
        is_user = installed.scope is InstallScope.USER
        where = "all your sessions, in any folder" if is_user else "sessions in this folder"
        yield f"Its hooks recall from {installed.workspace} in {where}:", ""
        narrower = " (--scope project: only in this folder)" if is_user else ""
        yield f"{installed.hooks_file}{narrower}", ""
    if installed.is_written:
        yield agent.next_step, ""
        undo = shlex.join(["install", agent.name, "--scope", installed.scope.value, "--undo"])
        yield f"`recollect {undo}` removes it again.", ""


def installed_json(installed: Installed) -> Json:
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
