"""What `recollect install` shows: the diff of each file, or what would be written and how else."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.install import Installed
    from recollect.shells.render.search import Json, Line

_STYLES = {"+": "green", "-": "red"}
_MOST_CHARS = 200  # of a line; some programs write their whole file on one


def installed_text(installed: Installed) -> Iterator[Line]:
    """Yield what was changed, file by file."""
    if not installed.is_written and not installed.is_undo:
        yield from _to_be_written(installed)
        return
    for each in installed.files:
        if not each.is_change:
            said = "has nothing of Recollect" if installed.is_undo else "says so already"
            yield f"{each.file}: {said}.", ""
        for line in each.diff.splitlines():
            yield _cut(line), _STYLES.get(line[:1], "")


def installed_remarks(installed: Installed) -> Iterator[Line]:
    """Yield what is started, and what is left to do."""
    agent, launch = installed.agent, installed.launch
    if installed.is_undo:
        if any(each.is_change for each in installed.files):
            verb = "no longer knows" if installed.is_written else "would no longer know"
            yield f"{agent.title} {verb} Recollect.", "bold"
        return
    command, arguments = launch.server
    yield f"{agent.title} starts: {shlex.join([command, *arguments])}", "bold"
    if installed.is_written:
        yield agent.next_step, ""
        undo = shlex.join(["install", agent.name, "--scope", installed.scope.value, "--undo"])
        yield f"`recollect {undo}` takes it out again.", ""


def installed_json(installed: Installed) -> Json:
    """Return the contract of `install --json`."""
    command, arguments = installed.launch.server
    return {
        "agent": installed.agent.name,
        "scope": installed.scope.value,
        "workspace": str(installed.workspace),
        "undo": installed.is_undo,
        "written": installed.is_written,
        "command": [command, *arguments],
        "env": dict(installed.launch.environ),
        "ownCommand": installed.own_command,
        "files": [
            {
                "path": str(each.file),
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
            yield "It says so already.", ""
        elif each.before is None:
            for line in installed.snippets[each.file].splitlines():
                yield line, ""
        for line in each.diff.splitlines() if each.before is not None else ():
            yield _cut(line), _STYLES.get(line[:1], "")
        yield "", ""
    if installed.own_command:
        yield f"{installed.agent.title}'s own command for the server:", "bold"
        yield installed.own_command, ""


def _cut(line: str) -> str:
    return line if len(line) <= _MOST_CHARS else f"{line[:_MOST_CHARS]}…"
