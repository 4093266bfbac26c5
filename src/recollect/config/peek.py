"""Looks at what a memory holds without opening it.

A server that is starting has to describe the memory before there is time to open it. What is
indexed is asked of the index file; before there is one, the file names have to do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.errors import WorkspaceError
from recollect.facts.folder import FACTS_FOLDER
from recollect.ingest.layout import FOLDER, NAME_A_FOLDER, Layout
from recollect.records import dataclass
from recollect.stores.peek import peek_paths
from recollect.text.confined import resolve_inside, scan_inside
from recollect.types import CURATED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\b.*\.md", re.IGNORECASE)
_MOST = 20_000  # notes: in a larger folder the rest is not counted
_MOST_FOLDERS = 500  # listed before there is an index
_MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Peek:
    """What is known of a memory that is not open."""

    workspace: Path
    days: tuple[str, ...]
    """Days of the first and the last daily note; empty if there are none."""
    daily: int
    """How many daily notes there are."""
    others: int
    """How many other notes there are."""
    exists: bool
    is_indexed: bool
    trouble: str | None
    """Why this is probably the wrong folder; None if it is not."""


def peek(
    workspace: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Peek:
    """Look at a memory; what cannot be read counts as missing.

    Raises:
        ConfigError: the agent's id cannot be used.

    """
    found = find_workspace(workspace, agent=agent, environ=environ, must_exist=False)
    root = found.folder
    layout = Layout(root, found.places.user, has_extra_paths=False)
    paths = peek_paths(found.index, source="memory", limit=_MOST)
    names = _note_names(layout) if paths is None else [each.rpartition("/")[2] for each in paths]
    days = sorted(day[1] for name in names if (day := _DAY.fullmatch(name)))
    # What else its settings name is not known, so only a folder without any is suspicious.
    is_known = bool(names) or found.settings.is_file() or (root / FOLDER).is_dir()
    return Peek(
        workspace=root,
        days=(days[0], days[-1]) if days else (),
        daily=len(days),
        others=len(names) - len(days),
        exists=root.is_dir(),
        is_indexed=found.index.is_file(),
        trouble=None if is_known else _trouble(layout),
    )


def _trouble(layout: Layout) -> str:
    root = layout.root
    if not root.is_dir():
        return f"There is no folder {root}. {NAME_A_FOLDER}"
    why = layout.refusal() or f"{root} has no Markdown files"
    return f"{why}. {NAME_A_FOLDER}"


def _note_names(layout: Layout) -> list[str]:
    """Return the names of notes in a workspace that is not indexed yet."""
    root = layout.root
    try:
        folders = [root / name for name in layout.names() if not (root / name).is_file()]
    except WorkspaceError:
        return []
    names = [name for name in CURATED if (root / name).is_file()]
    for _ in range(_MOST_FOLDERS):
        if not folders or len(names) >= _MOST:
            break
        found, inner = _list_notes(folders.pop(), root)
        names += found
        folders += inner
    return names[:_MOST]


def _list_notes(folder: Path, root: Path) -> tuple[list[str], list[Path]]:
    """Return the names of notes in a folder, and the folders in it."""
    names: list[str] = []
    folders: list[Path] = []
    is_deep = len(folder.parts) - len(root.parts) >= _MAX_DEPTH
    try:
        with scan_inside(resolve_inside(folder, root), root) as entries:
            for entry in entries:
                if entry.name.startswith(".") or folder / entry.name == root / FACTS_FOLDER:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders += [] if is_deep else [folder / entry.name]
                elif entry.name.lower().endswith(".md"):
                    names.append(entry.name)
                if len(names) == _MOST:
                    break
    except OSError:  # what was read counts
        return names, folders
    return names, folders
