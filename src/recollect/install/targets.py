"""Which files of which agent say what: one row an agent, in the words of its own documentation.

It knows formats and places; how a file is edited is decided elsewhere.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import Places
from recollect.config.openclaw import default_file
from recollect.errors import UsageError
from recollect.install.json_edit import dumped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.install.launch import Launch

NAME = "recollect"
"""What the server is called in every agent."""
_HOOK = re.compile(rf"\b{NAME}\b.* hook (?:session-start|prompt|stop)\b", re.DOTALL)
_HOOKS = (("SessionStart", "session-start", 15), ("UserPromptSubmit", "prompt", 15))
_CAPTURE = ("Stop", "stop", 10)


class Scope(StrEnum):
    """For which of an agent's sessions."""

    USER = "user"
    """All of this user's."""
    PROJECT = "project"
    """Those in the current folder."""


class Syntax(StrEnum):
    """How a file is written."""

    JSON = "json"
    """With or without comments."""
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something that a file is to say."""

    path: tuple[str, ...]
    value: Mapping[str, object]
    is_element: bool = False
    """True for one of a list's elements, False for the table at the path."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file, and what it is to say."""

    file: Path
    syntax: Syntax
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """For whom a configuration is written."""

    launch: Launch
    scope: Scope
    project: Path
    """The folder that a project's configuration is written in."""
    environ: Mapping[str, str]
    with_hooks: bool = True

    @property
    def user(self) -> Path:
        """The user's own folder."""
        return Places.of(self.environ).user

    def place(self, *, user: Path, project: str | None) -> Path:
        """Return the file of the scope.

        Raises:
            UsageError: the agent has no configuration of that scope.

        """
        if self.scope is Scope.USER:
            return user
        if project is None:
            raise UsageError(
                "This agent has no configuration of its own for a project.",
                action="Leave out --scope project.",
            )
        return self.project / project


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can be told of Recollect."""

    name: str
    title: str
    default_scope: Scope
    targets: Callable[[Request], tuple[Target, ...]]
    own_command: Callable[[Request], str | None]
    """The agent's own way to the same end; None where it has none."""
    next_step: str
    """What has to be done for it to take effect."""


def is_own_hook(element: object) -> bool:
    """Tell whether an entry of a list of hooks is one that this package writes."""
    hooks = element.get("hooks") if isinstance(element, dict) else None
    return (
        isinstance(hooks, list)
        and bool(hooks)
        and all(isinstance(each, dict) and _HOOK.search(str(each.get("command"))) for each in hooks)
    )


def _server(launch: Launch, *, typed: bool) -> dict[str, object]:
    command, arguments = launch.server
    entry: dict[str, object] = {"type": "stdio"} if typed else {}
    entry |= {"command": command, "args": arguments}
    return entry | ({"env": dict(launch.environ)} if launch.environ else {})


def _claude(request: Request) -> tuple[Target, ...]:
    named = request.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(named).expanduser() if named else request.user / ".claude"
    own = folder / ".claude.json" if named else request.user / ".claude.json"
    # Its tools are few, and to be thought of before one thinks of looking for tools.
    entry = {**_server(request.launch, typed=True), "alwaysLoad": True}
    server = Wanted(("mcpServers", NAME), entry)
    targets = (Target(request.place(user=own, project=".mcp.json"), Syntax.JSON, (server,)),)
    if not request.with_hooks:
        return targets
    settings = request.place(user=folder / "settings.json", project=".claude/settings.json")
    hooks = tuple(
        Wanted(
            ("hooks", event),
            {
                "hooks": [
                    {"type": "command", "command": request.launch.hook(name), "timeout": seconds}
                ]
            },
            is_element=True,
        )
        for event, name, seconds in (*_HOOKS, _CAPTURE)
    )
    return (*targets, Target(settings, Syntax.JSON, hooks))


def _codex(request: Request) -> tuple[Target, ...]:
    named = request.environ.get("CODEX_HOME")
    folder = Path(named).expanduser() if named else request.user / ".codex"
    file = request.place(user=folder / "config.toml", project=".codex/config.toml")
    entry = _server(request.launch, typed=False)
    return (Target(file, Syntax.TOML, (Wanted(("mcp_servers", NAME), entry),)),)


def _cursor(request: Request) -> tuple[Target, ...]:
    file = request.place(user=request.user / ".cursor" / "mcp.json", project=".cursor/mcp.json")
    entry = _server(request.launch, typed=False)
    return (Target(file, Syntax.JSON, (Wanted(("mcpServers", NAME), entry),)),)


def _vscode(request: Request) -> tuple[Target, ...]:
    user = _program_folder(request) / "Code" / "User" / "mcp.json"
    file = request.place(user=user, project=".vscode/mcp.json")
    entry = _server(request.launch, typed=True)
    return (Target(file, Syntax.JSON, (Wanted(("servers", NAME), entry),)),)


def _openclaw_entry(launch: Launch) -> dict[str, object]:
    # Without a time of its own a server gets 1.5 seconds to list its tools, while OpenClaw is busy.
    return {**_server(launch, typed=False), "requestTimeoutMs": 30_000}


def _openclaw(request: Request) -> tuple[Target, ...]:
    file = request.place(user=default_file(request.environ), project=None)
    entry = _openclaw_entry(request.launch)
    return (Target(file, Syntax.JSON, (Wanted(("mcp", "servers", NAME), entry),)),)


def _program_folder(request: Request) -> Path:
    """Return where programs with windows keep their settings."""
    if sys.platform == "darwin":
        return request.user / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(request.environ.get("APPDATA") or request.user / "AppData" / "Roaming")
    return Path(request.environ.get("XDG_CONFIG_HOME") or request.user / ".config")


def _claude_command(request: Request) -> str:
    given = [f"--env={key}={value}" for key, value in request.launch.environ.items()]
    command, arguments = request.launch.server
    scope = ["--scope", request.scope.value]
    return shlex.join(["claude", "mcp", "add", *scope, *given, NAME, "--", command, *arguments])


def _codex_command(request: Request) -> str | None:
    if request.scope is Scope.PROJECT:
        return None
    given = [word for pair in request.launch.environ.items() for word in ("--env", "=".join(pair))]
    command, arguments = request.launch.server
    return shlex.join(["codex", "mcp", "add", NAME, *given, "--", command, *arguments])


def _vscode_command(request: Request) -> str | None:
    if request.scope is Scope.PROJECT:
        return None
    entry = {"name": NAME, **_server(request.launch, typed=False)}
    return shlex.join(["code", "--add-mcp", dumped(entry)])


def _openclaw_command(request: Request) -> str:
    return shlex.join(["openclaw", "mcp", "set", NAME, dumped(_openclaw_entry(request.launch))])


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude",
            "Claude Code",
            Scope.USER,
            _claude,
            _claude_command,
            "Start a new session of Claude Code; `claude mcp get recollect` checks the server.",
        ),
        Agent(
            "codex",
            "Codex",
            Scope.USER,
            _codex,
            _codex_command,
            "Start a new session of Codex; `codex mcp get recollect` shows the server.",
        ),
        Agent(
            "cursor",
            "Cursor",
            Scope.USER,
            _cursor,
            lambda _request: None,
            "Switch the server on in Cursor's settings, under MCP.",
        ),
        Agent(
            "vscode",
            "VS Code",
            Scope.PROJECT,
            _vscode,
            _vscode_command,
            "Start the server from the file, or with `MCP: List Servers` in VS Code.",
        ),
        Agent(
            "openclaw",
            "OpenClaw",
            Scope.USER,
            _openclaw,
            _openclaw_command,
            "`openclaw mcp doctor recollect --probe` checks the server.",
        ),
    )
}
"""By the name that the command line knows."""
