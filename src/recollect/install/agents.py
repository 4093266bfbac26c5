"""Knows the agents: their configuration files, and the entries that make them start Recollect.

Entries start the very program that is running, by its absolute path. A name alone would depend on
the agent's PATH, which often differs from that of a terminal.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.openclaw import default_file
from recollect.config.paths import Places
from recollect.errors import UsageError
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAME = "recollect"
"""The name of the server in every agent."""
HOOKS = "hooks"
"""The key of the commands that Claude Code runs at the start of sessions and turns."""
_HOOK = re.compile(rf"\b{NAME}\b.{{0,1000}} hook (?:session-start|prompt|stop)\b", re.DOTALL)
_HOOKS = (
    ("SessionStart", "session-start", 15),
    ("UserPromptSubmit", "prompt", 15),
    ("Stop", "stop", 10),
)
"""Claude Code's events, our names for them, and the seconds a hook may take."""
_CARRIED = ("RECOLLECT_HOME", "RECOLLECT_CONFIG", "RECOLLECT_AGENT")
"""Variables that choose the memory; the agent's own environment may not have them."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts Recollect on a workspace."""

    program: tuple[str, ...]
    """The executable, or Python with the module."""
    options: tuple[str, ...]
    """Choose the memory: `-w DIR`, and `--agent` and `--config` if they were given."""
    environ: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def find(  # noqa: PLR0913 - what a memory can be named by
        cls,
        workspace: Path,
        *,
        started_as: str,
        executable: str,
        environ: Mapping[str, str],
        agent: str | None = None,
        config_file: Path | None = None,
    ) -> Launch:
        """Return the command for a workspace.

        Args:
            started_as: `sys.argv[0]` of the running program.
            environ: may hold variables that choose the memory.

        """
        options = ["-w", str(workspace)]
        options += ["--agent", agent] if agent else []
        options += ["--config", str(config_file.absolute())] if config_file else []
        named = {name: environ[name] for name in _CARRIED if environ.get(name)}
        for name in ("RECOLLECT_HOME", "RECOLLECT_CONFIG"):
            if name in named:
                named[name] = str(Path(named[name]).expanduser().absolute())
        program = _program(started_as, executable=executable)
        return cls(program, tuple(options), named)

    @property
    def server(self) -> tuple[str, list[str]]:
        """The command and the arguments that start the MCP server."""
        return self.program[0], [*self.program[1:], "mcp", *self.options]

    def hook(self, event: str) -> str:
        """Return the shell command that handles an event of an agent's session."""
        line = shlex.join([*self.program, "hook", event, *self.options])
        return " ".join(
            [*(f"{key}={shlex.quote(value)}" for key, value in self.environ.items()), line]
        )


class InstallScope(StrEnum):
    """Which sessions of an agent are configured."""

    USER = "user"
    """All sessions of this user."""
    PROJECT = "project"
    """Sessions in the current folder."""


class Syntax(StrEnum):
    """The format of a configuration file."""

    JSON = "json"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """An entry that a configuration file should have."""

    path: tuple[str, ...]
    value: Mapping[str, object]
    is_element: bool = False
    """Whether it is an element of the list at the path, not the object there."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A configuration file, and the entries it should have."""

    file: Path
    syntax: Syntax
    entries: tuple[AgentEntry, ...]

    @property
    def has_hooks(self) -> bool:
        """Whether its entries are commands that the agent runs at the start of a turn."""
        return any(entry.path[0] == HOOKS for entry in self.entries)


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """What to configure, and for which sessions."""

    launch: Launch
    scope: InstallScope
    project: Path
    """The folder for the configuration of a project."""
    environ: Mapping[str, str]
    with_hooks: bool = True

    @property
    def user(self) -> Path:
        """The user's home folder."""
        return Places.of(self.environ).user

    @property
    def boundary(self) -> Path | None:
        """Return the folder that files may not lead out of; None for the user's own files.

        A project may come from someone else; a link in the user's home is the user's.
        """
        return None if self.scope is InstallScope.USER else self.project

    def place(self, *, user: Path, project: str | None) -> Path:
        """Return the file for the scope.

        Raises:
            UsageError: the agent cannot be configured for that scope.

        """
        if self.scope is InstallScope.USER:
            return user
        if project is None:
            raise UsageError(
                "This agent cannot be configured for a single project.",
                action="Leave out --scope project.",
            )
        return self.project / project


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """An agent that can be configured."""

    name: str
    title: str
    next_step: str
    """What the user has to do for it to take effect."""
    user_file: Callable[[InstallRequest], Path]
    """Returns its configuration of all sessions."""
    project_file: str | None
    """Its configuration of a project; None if it has none."""
    servers: tuple[str, ...]
    """Where the file lists MCP servers."""
    syntax: Syntax = Syntax.JSON
    typed: bool = False
    """Whether an entry says how the server is reached."""
    others: Mapping[str, object] = field(default_factory=dict)
    """Further keys of the entry."""
    hooks: bool = False
    """Whether it runs our hooks."""
    default_scope: InstallScope = InstallScope.USER

    def files(self, request: InstallRequest) -> tuple[AgentFile, ...]:
        """Return the files to change, with the entries they should have.

        Raises:
            UsageError: the agent cannot be configured for that scope.

        """
        launch = request.launch
        command, arguments = launch.server
        entry: dict[str, object] = {"type": "stdio"} if self.typed else {}
        entry |= {"command": command, "args": arguments}
        entry |= {"env": dict(launch.environ)} if launch.environ else {}
        file = request.place(user=self.user_file(request), project=self.project_file)
        server = AgentEntry((*self.servers, NAME), {**entry, **self.others})
        targets = (AgentFile(file, self.syntax, (server,)),)
        return (*targets, _hooks_file(request)) if self.hooks and request.with_hooks else targets


def _hooks_file(request: InstallRequest) -> AgentFile:
    file = request.place(
        user=_folder(request, "CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
        project=".claude/settings.json",
    )
    hooks = tuple(
        AgentEntry(
            (HOOKS, event),
            {
                "hooks": [
                    {"type": "command", "command": request.launch.hook(name), "timeout": seconds}
                ]
            },
            is_element=True,
        )
        for event, name, seconds in _HOOKS
    )
    return AgentFile(file, Syntax.JSON, hooks)


def is_own_hook(element: object) -> bool:
    """Return whether an element of a list of hooks was written by this package."""
    hooks = element.get("hooks") if isinstance(element, dict) else None
    return (
        isinstance(hooks, list)
        and bool(hooks)
        and all(isinstance(each, dict) and _HOOK.search(str(each.get("command"))) for each in hooks)
    )


def _folder(request: InstallRequest, variable: str, name: str) -> Path:
    """Return the folder of an agent: the one that its variable names, or the one in the home."""
    named = request.environ.get(variable)
    return Path(named).expanduser() if named else request.user / name


def _program_folder(request: InstallRequest) -> Path:
    """Return where desktop programs keep their settings."""
    if sys.platform == "darwin":
        return request.user / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(request.environ.get("APPDATA") or request.user / "AppData" / "Roaming")
    return Path(request.environ.get("XDG_CONFIG_HOME") or request.user / ".config")


def _program(started_as: str, *, executable: str) -> tuple[str, ...]:
    beside = Path(executable).with_name(NAME)
    for path in (Path(started_as), beside):
        for candidate in (path, path.with_name(f"{path.name}.exe")):
            if candidate.stem == NAME and candidate.suffix in ("", ".exe") and _runs(candidate):
                return (str(candidate.absolute()),)
    # An agent starts it in its project, whose files must not be taken for Python modules (-P).
    return (str(Path(executable).absolute()), "-P", "-m", NAME)


def _runs(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


AGENTS = {
    agent.name: agent
    for agent in (
        AgentProgram(
            "claude",
            "Claude Code",
            "Start a new session of Claude Code; `claude mcp get recollect` checks the server.",
            user_file=lambda request: _folder(request, "CLAUDE_CONFIG_DIR", "") / ".claude.json",
            project_file=".mcp.json",
            servers=("mcpServers",),
            typed=True,
            # Its few tools should be known to the model before it searches for tools.
            others={"alwaysLoad": True},
            hooks=True,
        ),
        AgentProgram(
            "codex",
            "Codex",
            "Start a new session of Codex; `codex mcp get recollect` shows the server.",
            user_file=lambda request: _folder(request, "CODEX_HOME", ".codex") / "config.toml",
            project_file=".codex/config.toml",
            servers=("mcp_servers",),
            syntax=Syntax.TOML,
        ),
        AgentProgram(
            "cursor",
            "Cursor",
            "Switch the server on in Cursor's settings, under MCP.",
            user_file=lambda request: request.user / ".cursor" / "mcp.json",
            project_file=".cursor/mcp.json",
            servers=("mcpServers",),
        ),
        AgentProgram(
            "vscode",
            "VS Code",
            "Start the server from the file, or with `MCP: List Servers` in VS Code.",
            user_file=lambda request: _program_folder(request) / "Code" / "User" / "mcp.json",
            project_file=".vscode/mcp.json",
            servers=("servers",),
            typed=True,
            default_scope=InstallScope.PROJECT,
        ),
        AgentProgram(
            "openclaw",
            "OpenClaw",
            "`openclaw mcp doctor recollect --probe` checks the server.",
            user_file=lambda request: default_file(request.environ),
            project_file=None,
            servers=("mcp", "servers"),
            # OpenClaw would give the server 1.5 seconds to list its tools, too little under load.
            others={"requestTimeoutMs": 30_000},
        ),
    )
}
"""Agents by their name on the command line."""
