"""Looks at the file names of a memory without opening any file.

A server that is starting has to describe the memory before there is time to open it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.records import dataclass
from recollect.text.confined import resolve_inside, scan_inside

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\b.*\.md", re.IGNORECASE)
_MOST = 20_000  # names read: in a larger folder the rest is not counted


@dataclass(frozen=True, slots=True)
class Peek:
    """What the file names of a memory tell."""

    workspace: Path
    exists: bool
    days: tuple[str, ...]
    """Days of the first and the last daily note; empty if there are none."""
    daily: int
    """How many daily notes there are."""
    others: int
    """How many other notes and folders there are."""
    has_facts: bool
    is_indexed: bool

    @property
    def trouble(self) -> str | None:
        """Why this is probably the wrong folder; None if it is not."""
        if not self.exists:
            return f"There is no folder {self.workspace}. Name the workspace with -w."
        if not (self.daily or self.others or self.has_facts):
            return f"{self.workspace} holds no memory files. Name the workspace with -w."
        return None


def peek(
    workspace: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Peek:
    """Look at the file names of a memory; what cannot be read counts as missing.

    Raises:
        ConfigError: the agent's id cannot be used.

    """
    found = find_workspace(workspace, agent=agent, environ=environ, must_exist=False)
    root = found.folder
    names = _names(root / "memory", root)
    days = sorted(day[1] for name in names if (day := _DAY.fullmatch(name)))
    top = [name for name in ("MEMORY.md", "USER.md") if (root / name).is_file()]
    return Peek(
        workspace=root,
        exists=root.is_dir(),
        days=(days[0], days[-1]) if days else (),
        daily=len(days),
        others=len(names) - len(days) - ("facts" in names) + len(top),
        has_facts="facts" in names,
        is_indexed=found.index.is_file(),
    )


def _names(folder: Path, root: Path) -> list[str]:
    names: list[str] = []
    try:
        with scan_inside(resolve_inside(folder, root), Path(os.path.realpath(root))) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    names.append(entry.name)
                if len(names) == _MOST:
                    break
    except OSError:
        return names
    return names
