"""Reads OpenClaw's configuration file: where it is, what it says, which keys an agent has.

It does not know what the keys mean. Variables and secrets are not looked up: `${NAME}` in the file
stays `${NAME}`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Table = Mapping[str, object]

_FILE = "openclaw.json"
_STATE = ".openclaw"
_INCLUDE = "$include"
_PLACE = re.compile(r"<string>:(?P<line>\d+) (?P<what>.*) at column (?P<column>\d+)", re.DOTALL)
_MAIN = "main"  # the agent of a file that lists none
PATH_LISTS = frozenset({"extraPaths", "qmd.extraCollections", "qmd.paths"})
"""Lists of paths: those of all layers are joined; of any other key the last layer wins."""
_SINGLE_VALUES = frozenset({"remote.apiKey", "remote.headers"})
"""Tables that are one value, and may be secret."""
_NOT_AGENTS = frozenset({"defaults", "entries", "list"})
_KEYS_OF_AGENTS = frozenset({"memorySearch", "memory", "workspace"})


@dataclass(frozen=True, slots=True)
class OpenClawKey:
    """A key of OpenClaw's file with its value."""

    path: str
    """The full key, as in the file: `memory.search.query.maxResults`."""
    name: str
    """The key inside the table of memory search: `query.maxResults`."""
    value: object


@dataclass(frozen=True, slots=True)
class OpenClawAgent:
    """One of OpenClaw's agents."""

    id: str
    path: str
    """The key of its table in the file."""
    table: Table
    is_default: bool = False

    @property
    def has_overrides(self) -> bool:
        """Whether it has its own settings for memory search."""
        return bool(table_at(self.table, "memorySearch") or table_at(self.table, "memory"))


def default_file(environ: Mapping[str, str]) -> Path:
    """Return the file that OpenClaw itself would read."""
    named = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    return _expanded(named, environ) if named else _state_folder(environ) / _FILE


def read_tree(file: Path) -> Table:
    """Return the whole configuration.

    Raises:
        ConfigError: the file is missing, cannot be parsed, or includes others.

    """
    tree = _parsed(file)
    if not isinstance(tree, dict):
        raise ConfigError(
            f"{file} does not hold a table of settings.", action="Name OpenClaw's openclaw.json."
        )
    if _includes(tree):
        raise ConfigError(
            f"{file} includes other files, which are not read.",
            action=f"Name a copy in which each `{_INCLUDE}` is replaced with the file's content.",
        )
    return tree


def table_at(tree: object, *path: str) -> Table:
    """Return the table at a path; an empty one if there is none."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def agents_of(tree: Table) -> tuple[OpenClawAgent, ...]:
    """Return the agents in the order of the file; one of them is the default."""
    agents: dict[str, OpenClawAgent] = {}
    for agent in _listed(tree):
        agents.setdefault(agent.id, agent)
    if not agents:
        return (OpenClawAgent(_MAIN, f"agents.entries.{_MAIN}", {}, is_default=True),)
    marked = [agent.id for agent in agents.values() if agent.table.get("default") is True]
    default = marked[0] if marked else _MAIN if _MAIN in agents else next(iter(agents))
    return tuple(replace(agent, is_default=agent.id == default) for agent in agents.values())


def choose_agent(agents: tuple[OpenClawAgent, ...], *, named: str | None) -> OpenClawAgent:
    """Return the named agent, else the default one.

    Raises:
        ConfigError: there is no agent of that name.

    """
    wanted = None if named is None else _id(named)
    for agent in agents:
        if agent.id == wanted or (wanted is None and agent.is_default):
            return agent
    raise ConfigError(
        f"OpenClaw's configuration has no agent {named!r}.",
        action=f"Its agents are {', '.join(agent.id for agent in agents)}.",
    )


def workspace_of(tree: Table, agent: OpenClawAgent, *, environ: Mapping[str, str]) -> Path:
    """Return the folder with the agent's memory, which may not exist."""
    shared = table_at(tree, "agents", "defaults").get("workspace")
    for named in (agent.table.get("workspace"), shared if agent.is_default else None):
        if isinstance(named, str) and named.strip():
            return _expanded(named.strip(), environ)
    name = "workspace" if agent.is_default else f"workspace-{agent.id}"
    return _state_folder(environ) / name


def search_keys(tree: Table, agent: OpenClawAgent) -> list[OpenClawKey]:
    """Return the keys of memory search that apply to an agent, in either spelling of the file."""
    layers = (
        ("memorySearch", tree.get("memorySearch")),
        ("agents.defaults.memorySearch", table_at(tree, "agents", "defaults").get("memorySearch")),
        ("memory.search", table_at(tree, "memory").get("search")),
        (f"{agent.path}.memorySearch", agent.table.get("memorySearch")),
        (f"{agent.path}.memory.search", table_at(agent.table, "memory").get("search")),
    )
    chosen: dict[str, OpenClawKey] = {}
    for prefix, table in layers:
        for key in leaves(table, prefix=prefix):
            # The full path keeps the lists of all layers.
            chosen[key.path if key.name in PATH_LISTS else key.name] = key
    return list(chosen.values())


def leaves(table: object, *, prefix: str, name: str = "") -> Iterator[OpenClawKey]:
    """Yield the values of a table and of the tables in it; null counts as missing."""
    if isinstance(table, dict) and name not in _SINGLE_VALUES:
        for key, value in table.items():
            yield from leaves(value, prefix=prefix, name=f"{name}.{key}" if name else key)
    elif table is not None:
        yield OpenClawKey(f"{prefix}.{name}" if name else prefix, name, table)


def _includes(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_includes, value))
    return isinstance(value, dict) and (_INCLUDE in value or any(map(_includes, value.values())))


def _listed(tree: Table) -> Iterator[OpenClawAgent]:
    agents = table_at(tree, "agents")
    for name, table in table_at(agents, "entries").items():
        own = table if isinstance(table, dict) else {}
        yield OpenClawAgent(_id(name), f"agents.entries.{name}", own)
    listed = agents.get("list")
    for place, table in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(table, dict):
            yield OpenClawAgent(_id(str(table.get("id") or _MAIN)), f"agents.list[{place}]", table)
    for name, table in agents.items():
        if name not in _NOT_AGENTS and isinstance(table, dict) and table.keys() & _KEYS_OF_AGENTS:
            yield OpenClawAgent(_id(name), f"agents.{name}", table)


def _id(name: str) -> str:
    return name.strip().lower()


def _state_folder(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return _expanded(named, environ) if named else _home(environ) / _STATE


def _expanded(path: str, environ: Mapping[str, str]) -> Path:
    """Return a path as OpenClaw reads it, `~` being its home."""
    return _home(environ) / path[1:].lstrip("/\\") if path[:1] == "~" else Path(path)


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("OPENCLAW_HOME", "").strip() or environ.get("HOME", "").strip()
    return Path(named).expanduser() if named else Path.home()


def _parsed(file: Path) -> object:
    try:
        return _json5(file.read_text(encoding="utf-8-sig"), file=file)
    except FileNotFoundError as error:
        raise ConfigError(
            f"There is no OpenClaw configuration at {file}.",
            action="Name the file: `recollect config import-openclaw FILE`.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(
            f"{file} cannot be read ({reason}).", action="Make it readable, or name another file."
        ) from error
    except RecursionError as error:
        raise ConfigError(
            f"{file} cannot be read: it is nested too deeply.", action="Name OpenClaw's own file."
        ) from error


def _json5(text: str, *, file: Path) -> object:
    try:
        return json.loads(text)  # most files are plain JSON, which parses a thousand times faster
    except ValueError:
        import json5  # noqa: PLC0415 - needed by this command only

        try:
            return json5.loads(text)
        except ValueError as error:
            found = _PLACE.fullmatch(str(error))
            place = f"{file}:{found['line']}:{found['column']}" if found else str(file)
            # Without a cause: a traceback would show the text, which may hold keys.
            raise ConfigError(
                f"{place} is not JSON5: {found['what'] if found else error}.",
                action="Correct the file; `openclaw config validate` checks it too.",
            ) from None
