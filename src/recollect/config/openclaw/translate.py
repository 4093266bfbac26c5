"""Maps OpenClaw's memory settings to ours: every key is copied, converted or not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.openclaw.mapper import Carried, KeyMapper, Unsupported
from recollect.config.openclaw.provider import map_provider
from recollect.config.openclaw.read import (
    PATH_LISTS,
    OpenClawKey,
    agents_of,
    choose_agent,
    leaves,
    read_tree,
    search_keys,
    table_at,
    workspace_of,
)
from recollect.config.openclaw.rules import (
    ELSEWHERE,
    NOT_QMD,
    QMD_SESSIONS,
    QMD_TOGETHER,
    TOGETHER,
    is_qmd,
    map_beside,
    map_key,
)
from recollect.config.openclaw.sources import map_paths, map_sources
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.config.edit import Value
    from recollect.config.openclaw.read import Table


@dataclass(frozen=True, slots=True)
class Translation:
    """What OpenClaw's file says about memory search, in our settings."""

    file: Path
    agent: str
    agents: tuple[str, ...]
    workspace: Path
    """The folder with that agent's memory, which may not exist."""
    carried: tuple[Carried, ...]
    unsupported: tuple[Unsupported, ...]
    remarks: tuple[str, ...]

    @property
    def changes(self) -> dict[str, Value]:
        """The settings to write."""
        changes: dict[str, Value] = {}
        for each in self.carried:
            if each.setting is None or each.value is None:
                continue
            before = changes.get(each.setting)
            if isinstance(before, list) and isinstance(each.value, list):
                changes[each.setting] = list(dict.fromkeys([*before, *each.value]))
            else:
                changes[each.setting] = each.value
        return changes


def translate(file: Path, *, agent: str | None, environ: Mapping[str, str]) -> Translation:
    """Read OpenClaw's file and map every key of its memory search.

    Args:
        file: `openclaw.json`.
        agent: whose overrides apply; None is OpenClaw's default agent.
        environ: tells where OpenClaw's home is.

    Raises:
        ConfigError: the file cannot be read, or has no such agent.

    """
    tree = read_tree(file)
    agents = agents_of(tree)
    chosen = choose_agent(agents, named=agent)
    mapper = KeyMapper()
    found = search_keys(tree, chosen)
    remark = _map_all(found, tree=tree, mapper=mapper)
    others = [each.id for each in agents if each.has_overrides and each.id != chosen.id]
    return Translation(
        file=file,
        agent=chosen.id,
        agents=tuple(each.id for each in agents),
        workspace=workspace_of(tree, chosen, environ=environ),
        carried=tuple(mapper.carried),
        unsupported=tuple(mapper.unsupported_keys),
        remarks=(
            *([remark] if remark else []),
            *([_NOT_AGED] if _is_aged_there(found) else []),
            *(
                f"The agent {name} has its own settings; `--agent {name}` imports them."
                for name in others
            ),
        ),
    )


def _map_all(found: list[OpenClawKey], *, tree: Table, mapper: KeyMapper) -> str | None:
    """Map the keys of memory search and those beside it; return a remark on the provider."""
    keys = {each.name: each for each in found}
    memory = {key: value for key, value in table_at(tree, "memory").items() if key != "search"}
    beside = {each.path: each for each in leaves(memory, prefix="memory")}
    uses_qmd = memory.get("backend") == "qmd"
    qmd = {path: beside.pop(path) for path in QMD_TOGETHER if uses_qmd and path in beside}
    remark = map_provider(keys, tree=tree, mapper=mapper)
    lists = [each for each in (*found, *qmd.values()) if each.name in PATH_LISTS]
    map_paths([each for each in lists if uses_qmd or not is_qmd(each)], mapper=mapper)
    map_sources(keys, qmd=qmd.get(QMD_SESSIONS), mapper=mapper)
    for each in found:
        if is_qmd(each) and not uses_qmd:
            mapper.unsupported(each, NOT_QMD)
        elif each.name not in TOGETHER:
            map_key(each, mapper)
    for each in beside.values():
        map_beside(each, mapper, uses_qmd=uses_qmd)
    for path, reason in ELSEWHERE.items():
        if table_at(tree, *path[:-1]).get(path[-1]) is not None:
            mapper.unsupported(OpenClawKey(".".join(path), path[-1], None), reason)
    return remark


_AGING = ("query.hybrid.temporalDecay.enabled", "query.hybrid.mmr.enabled")
_NOT_AGED = (
    "OpenClaw lowers the score of dated notes by half every 30 days and prefers hits that differ; "
    "Recollect does neither unless you ask, so that an old right answer stays first. "
    "`recollect config set temporal_decay.enabled true` and `recollect config set mmr.enabled "
    "true` turn them on."
)


def _is_aged_there(keys: list[OpenClawKey]) -> bool:
    """Return whether OpenClaw's own defaults, which are on since they are no longer keys, apply."""
    is_older = any("memorySearch" in key.path for key in keys)
    return not is_older and not any(key.name in _AGING for key in keys)
