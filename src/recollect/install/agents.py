"""Knows the agents: their configuration files, and the entries that make them start Recollect.

Also git, which merges the facts of several machines by an entry of its own.

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

from recollect.config import Places
from recollect.config.openclaw import default_file
from recollect.errors import UsageError
from recollect.facts.files import FACTS_FOLDER, FORGOTTEN
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
            workspace: the folder with the memory.
            started_as: `sys.argv[0]` of the running program.
            executable: the running Python.
            environ: may hold variables that choose the memory.
            agent: id of the index, if given.
            config_file: the settings file, if given.

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
    YAML = "yaml"
    ATTRIBUTES = "attributes"
    """Git's: a pattern and its attributes on each line."""


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
    workspace: Path
    project: Path
    """The folder for the configuration of a project."""
    environ: Mapping[str, str]
    with_hooks: bool = True

    @property
    def user(self) -> Path:
        """The user's home folder."""
        return Places.of(self.environ).user

    def boundary_of(self, file: Path) -> Path | None:
        """Return the folder that a file may not lead out of; None for the user's own files.

        A project may come from someone else; a link in the user's home is the user's.
        """
        if self.scope is InstallScope.USER:
            return None
        return self.project if file.is_relative_to(self.project) else self.workspace

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
    default_scope: InstallScope
    files: Callable[[InstallRequest], tuple[AgentFile, ...]]
    next_step: str
    """What the user has to do for it to take effect."""
    starts_recollect: bool = True


def is_own_hook(element: object) -> bool:
    """Return whether an element of a list of hooks was written by this package."""
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


def _claude(request: InstallRequest) -> tuple[AgentFile, ...]:
    named = request.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(named).expanduser() if named else request.user / ".claude"
    own = folder / ".claude.json" if named else request.user / ".claude.json"
    # Its few tools should be known to the model before it searches for tools.
    launch = request.launch
    entry = {**_server(launch, typed=True), "alwaysLoad": True}
    server = AgentEntry(("mcpServers", NAME), entry)
    targets = (AgentFile(request.place(user=own, project=".mcp.json"), Syntax.JSON, (server,)),)
    if not request.with_hooks:
        return targets
    settings = request.place(user=folder / "settings.json", project=".claude/settings.json")
    hooks = tuple(
        AgentEntry(
            (HOOKS, event),
            {"hooks": [{"type": "command", "command": launch.hook(name), "timeout": seconds}]},
            is_element=True,
        )
        for event, name, seconds in _HOOKS
    )
    return (*targets, AgentFile(settings, Syntax.JSON, hooks))


def _codex(request: InstallRequest) -> tuple[AgentFile, ...]:
    named = request.environ.get("CODEX_HOME")
    folder = Path(named).expanduser() if named else request.user / ".codex"
    file = request.place(user=folder / "config.toml", project=".codex/config.toml")
    entry = _server(request.launch, typed=False)
    return (AgentFile(file, Syntax.TOML, (AgentEntry(("mcp_servers", NAME), entry),)),)


def _cursor(request: InstallRequest) -> tuple[AgentFile, ...]:
    file = request.place(user=request.user / ".cursor" / "mcp.json", project=".cursor/mcp.json")
    entry = _server(request.launch, typed=False)
    return (AgentFile(file, Syntax.JSON, (AgentEntry(("mcpServers", NAME), entry),)),)


def _vscode(request: InstallRequest) -> tuple[AgentFile, ...]:
    user = _program_folder(request) / "Code" / "User" / "mcp.json"
    file = request.place(user=user, project=".vscode/mcp.json")
    entry = _server(request.launch, typed=True)
    return (AgentFile(file, Syntax.JSON, (AgentEntry(("servers", NAME), entry),)),)


def _openclaw(request: InstallRequest) -> tuple[AgentFile, ...]:
    file = request.place(user=default_file(request.environ), project=None)
    # OpenClaw would give the server 1.5 seconds to list its tools, too little under load.
    entry = {**_server(request.launch, typed=False), "requestTimeoutMs": 30_000}
    return (AgentFile(file, Syntax.JSON, (AgentEntry(("mcp", "servers", NAME), entry),)),)


def _hermes(request: InstallRequest) -> tuple[AgentFile, ...]:
    named = request.environ.get("HERMES_HOME")
    folder = Path(named).expanduser() if named else request.user / ".hermes"
    file = request.place(user=folder / "config.yaml", project=None)
    entry = _server(request.launch, typed=False)
    return (AgentFile(file, Syntax.YAML, (AgentEntry(("mcp_servers", NAME), entry),)),)


def _git(request: InstallRequest) -> tuple[AgentFile, ...]:
    if request.scope is InstallScope.USER:
        raise UsageError("Git is configured for one workspace.", action="Leave out --scope user.")
    file = request.workspace / ".gitattributes"
    # What both sides appended is kept: an entry is one line.
    entries = tuple(
        AgentEntry((f"{FACTS_FOLDER}/{name}",), {"merge": "union"}) for name in ("*.md", FORGOTTEN)
    )
    return (AgentFile(file, Syntax.ATTRIBUTES, entries),)


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
            InstallScope.USER,
            _claude,
            "Start a new session of Claude Code; `claude mcp get recollect` checks the server.",
        ),
        AgentProgram(
            "codex",
            "Codex",
            InstallScope.USER,
            _codex,
            "Start a new session of Codex; `codex mcp get recollect` shows the server.",
        ),
        AgentProgram(
            "cursor",
            "Cursor",
            InstallScope.USER,
            _cursor,
            "Switch the server on in Cursor's settings, under MCP.",
        ),
        AgentProgram(
            "vscode",
            "VS Code",
            InstallScope.PROJECT,
            _vscode,
            "Start the server from the file, or with `MCP: List Servers` in VS Code.",
        ),
        AgentProgram(
            "openclaw",
            "OpenClaw",
            InstallScope.USER,
            _openclaw,
            "`openclaw mcp doctor recollect --probe` checks the server.",
        ),
        AgentProgram(
            "hermes",
            "Hermes",
            InstallScope.USER,
            _hermes,
            "Start a new session of Hermes, or type /reload-mcp; `hermes mcp test recollect` checks"
            " the server.",
        ),
        AgentProgram(
            "git",
            "Git",
            InstallScope.PROJECT,
            _git,
            "Commit the file, so that every clone merges facts this way.",
            starts_recollect=False,
        ),
    )
}
"""Agents by their name on the command line."""
