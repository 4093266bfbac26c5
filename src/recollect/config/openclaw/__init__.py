"""What of OpenClaw's settings is there here? Its file becomes settings of ours, and a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.config.openclaw.file import default_file, read_tree, table_at
from recollect.config.openclaw.layers import (
    ADDING,
    agents_of,
    choose_agent,
    leaves,
    search_keys,
    workspace_of,
)
from recollect.config.openclaw.provider import OWN_SETTINGS, sort_provider
from recollect.config.openclaw.rules import (
    ELSEWHERE,
    NOT_QMD,
    QMD_SESSIONS,
    QMD_TOGETHER,
    TOGETHER,
    is_qmd,
    sort_beside,
    sort_key,
)
from recollect.config.openclaw.sorting import Carried, Found, Sorting, Unsupported
from recollect.config.openclaw.sources import sort_paths, sort_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.config.edit import Value
    from recollect.config.openclaw.file import Table

__all__ = [
    "OWN_SETTINGS",
    "Carried",
    "Translation",
    "Unsupported",
    "default_file",
    "translate",
]


@dataclass(frozen=True, slots=True)
class Translation:
    """What OpenClaw's file says about memory search, and what it is here."""

    file: Path
    agent: str
    agents: tuple[str, ...]
    workspace: Path
    """Where that agent's memory is, there or not."""
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
    """Read OpenClaw's file and sort every key of its memory search.

    Args:
        file: `openclaw.json`.
        agent: whose overrides to take; None is OpenClaw's default agent.
        environ: says where OpenClaw's home is.

    Raises:
        ConfigError: the file cannot be read, or has no such agent.

    """
    tree = read_tree(file)
    agents = agents_of(tree)
    chosen = choose_agent(agents, named=agent)
    sorting = Sorting()
    remark = _sort(search_keys(tree, chosen), tree=tree, sorting=sorting)
    others = [each.id for each in agents if each.has_overrides and each.id != chosen.id]
    return Translation(
        file=file,
        agent=chosen.id,
        agents=tuple(each.id for each in agents),
        workspace=workspace_of(tree, chosen, environ=environ),
        carried=tuple(sorting.carried),
        unsupported=tuple(sorting.unsupported),
        remarks=(*([remark] if remark else []), *(_other(name) for name in others)),
    )


def _sort(found: list[Found], *, tree: Table, sorting: Sorting) -> str | None:
    """Sort the keys of memory search and those beside it; return a remark on the provider."""
    keys = {each.name: each for each in found}
    beside = {each.key: each for each in _beside(tree)}
    uses_qmd = table_at(tree, "memory").get("backend") == "qmd"
    qmd = {name: beside.pop(name) for name in QMD_TOGETHER if uses_qmd and name in beside}
    remark = sort_provider(keys, tree=tree, sorting=sorting)
    lists = [each for each in (*found, *qmd.values()) if each.name in ADDING]
    sort_paths([each for each in lists if uses_qmd or not is_qmd(each)], sorting=sorting)
    sort_sources(keys, qmd=qmd.get(QMD_SESSIONS), sorting=sorting)
    for each in found:
        if is_qmd(each) and not uses_qmd:
            sorting.refuse(each, NOT_QMD)
        elif each.name not in TOGETHER:
            sort_key(each, sorting=sorting)
    for each in beside.values():
        sort_beside(each, uses_qmd=uses_qmd, sorting=sorting)
    for path, reason in ELSEWHERE.items():
        if table_at(tree, *path[:-1]).get(path[-1]) is not None:
            sorting.refuse(Found(".".join(path), path[-1], None), reason)
    return remark


def _beside(tree: Table) -> list[Found]:
    memory = {key: value for key, value in table_at(tree, "memory").items() if key != "search"}
    return list(leaves(memory, prefix="memory"))


def _other(agent: str) -> str:
    return f"The agent {agent} has settings of its own: `--agent {agent}` takes them."
