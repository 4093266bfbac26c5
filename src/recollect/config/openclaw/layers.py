"""Which keys are in force for an agent: defaults and overrides, in the older and newer spelling.

Later layers win key by key, except that lists of paths add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.config.openclaw.file import expanded, state_folder, table_at
from recollect.config.openclaw.sorting import Found
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from recollect.config.openclaw.file import Table

MAIN = "main"
"""The agent of a file that lists none."""
ADDING = frozenset({"extraPaths", "qmd.extraCollections", "qmd.paths"})
"""Lists of paths: those of all layers count."""
_WHOLE = frozenset({"remote.apiKey", "remote.headers"})
"""Tables that are one value, and may be secret."""
_NOT_AGENTS = frozenset({"defaults", "entries", "list"})
_OF_AGENTS = frozenset({"memorySearch", "memory", "workspace"})


@dataclass(frozen=True, slots=True)
class Agent:
    """One of OpenClaw's agents."""

    id: str
    path: str
    """Where it stands in the file."""
    table: Table
    is_default: bool = False

    @property
    def has_overrides(self) -> bool:
        """True when its memory search is not that of all agents."""
        return bool(table_at(self.table, "memorySearch") or table_at(self.table, "memory"))


def agents_of(tree: Table) -> tuple[Agent, ...]:
    """Return the agents in the order of the file, one of them the default."""
    agents: dict[str, Agent] = {}
    for agent in _listed(tree):
        agents.setdefault(agent.id, agent)
    if not agents:
        return (Agent(MAIN, f"agents.entries.{MAIN}", {}, is_default=True),)
    marked = [agent.id for agent in agents.values() if agent.table.get("default") is True]
    default = marked[0] if marked else MAIN if MAIN in agents else next(iter(agents))
    return tuple(replace(agent, is_default=agent.id == default) for agent in agents.values())


def choose_agent(agents: tuple[Agent, ...], *, named: str | None) -> Agent:
    """Return the named agent, else the default one.

    Raises:
        ConfigError: there is none of that name.

    """
    wanted = None if named is None else _id(named)
    for agent in agents:
        if agent.id == wanted or (wanted is None and agent.is_default):
            return agent
    raise ConfigError(
        f"OpenClaw's configuration has no agent {named!r}.",
        action=f"Its agents are {', '.join(agent.id for agent in agents)}.",
    )


def search_keys(tree: Table, agent: Agent) -> list[Found]:
    """Return the keys of memory search that are in force for an agent."""
    layers = (
        ("memorySearch", tree.get("memorySearch")),
        ("agents.defaults.memorySearch", table_at(tree, "agents", "defaults").get("memorySearch")),
        ("memory.search", table_at(tree, "memory").get("search")),
        (f"{agent.path}.memorySearch", agent.table.get("memorySearch")),
        (f"{agent.path}.memory.search", table_at(agent.table, "memory").get("search")),
    )
    chosen: dict[str, Found] = {}
    for prefix, table in layers:
        for found in leaves(table, prefix=prefix):
            # Under a name of its own, so that the layer before stays.
            chosen[found.key if found.name in ADDING else found.name] = found
    return list(chosen.values())


def leaves(table: object, *, prefix: str, name: str = "") -> Iterator[Found]:
    """Yield the values of a table and of those in it; null is as good as not there."""
    if isinstance(table, dict) and name not in _WHOLE:
        for key, value in table.items():
            inner = f"{name}.{key}" if name else key
            yield from leaves(value, prefix=prefix, name=inner)
    elif table is not None:
        yield Found(f"{prefix}.{name}" if name else prefix, name, table)


def workspace_of(tree: Table, agent: Agent, *, environ: Mapping[str, str]) -> Path:
    """Return the folder with the agent's memory, there or not."""
    own = agent.table.get("workspace")
    shared = table_at(tree, "agents", "defaults").get("workspace")
    for named in (own, shared if agent.is_default else None):
        if isinstance(named, str) and named.strip():
            return expanded(named.strip(), environ)
    state = state_folder(environ)
    return state / ("workspace" if agent.is_default else f"workspace-{agent.id}")


def _listed(tree: Table) -> Iterator[Agent]:
    agents = table_at(tree, "agents")
    for name, table in table_at(agents, "entries").items():
        own = table if isinstance(table, dict) else {}
        yield Agent(_id(name), f"agents.entries.{name}", own)
    listed = agents.get("list")
    for place, table in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(table, dict):
            yield Agent(_id(str(table.get("id") or MAIN)), f"agents.list[{place}]", table)
    for name, table in agents.items():
        if name not in _NOT_AGENTS and isinstance(table, dict) and table.keys() & _OF_AGENTS:
            yield Agent(_id(name), f"agents.{name}", table)


def _id(name: str) -> str:
    return name.strip().lower()
