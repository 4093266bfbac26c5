"""What can be told of a memory at a glance: by names of files alone, with nothing opened or read.

For whoever has to say what is there before there is time to look: a server that is just starting.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config.paths import Places, agent_of, find_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\b.*\.md", re.IGNORECASE)
_MOST = 20_000  # names looked at: a folder with more is told of as it begins


@dataclass(frozen=True, slots=True)
class Glimpse:
    """A memory from afar."""

    workspace: Path
    exists: bool
    days: tuple[str, ...]
    """Of daily notes: the first and the last; one twice, none at all."""
    daily: int
    """How many daily notes."""
    others: int
    """How many other notes and folders lie beside them."""
    has_facts: bool
    is_indexed: bool
    """False when nothing was indexed yet."""

    @property
    def trouble(self) -> str | None:
        """What whoever starts something on it should know: most likely it is the wrong folder."""
        if not self.exists:
            return f"There is no folder {self.workspace}. Name the workspace with -w."
        if not (self.daily or self.others or self.has_facts):
            return f"{self.workspace} holds no memory files. Name the workspace with -w."
        return None


def glimpse(
    workspace: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Glimpse:
    """Look at a memory from afar; what cannot be looked at is as if it were not there.

    Raises:
        ConfigError: that cannot be an agent's id.

    """
    environ = os.environ if environ is None else environ
    named = None if workspace is None else Path(workspace)
    root = find_workspace(named, environ=environ, current=Path.cwd())
    index = Places.of(environ).index_of(
        agent_of(root, named=agent or environ.get("RECOLLECT_AGENT"))
    )
    names = _names(root / "memory")
    days = sorted(day[1] for name in names if (day := _DAY.fullmatch(name)))
    top = [name for name in ("MEMORY.md", "USER.md") if (root / name).is_file()]
    return Glimpse(
        workspace=root,
        exists=root.is_dir(),
        days=(days[0], days[-1]) if days else (),
        daily=len(days),
        others=len(names) - len(days) - ("facts" in names) + len(top),
        has_facts="facts" in names,
        is_indexed=index.is_file(),
    )


def _names(folder: Path) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    names.append(entry.name)
                if len(names) == _MOST:
                    break
    except OSError:
        return names
    return names
