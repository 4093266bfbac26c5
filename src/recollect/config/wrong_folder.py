"""Tells whether a folder that is about to be served is probably the wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.errors import WorkspaceError
from recollect.ingest.layout import FOLDER, NAME_A_FOLDER, Layout
from recollect.text.confined import resolve_inside, scan_inside
from recollect.types import CURATED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST_FOLDERS = 500  # in which a note is looked for


def wrong_folder(
    workspace: Path | str | None = None,
    *,
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Return why a workspace is probably the wrong folder; None if it is not.

    Raises:
        ConfigError: the agent's id cannot be used.

    """
    found = find_workspace(workspace, agent=agent, environ=environ, must_exist=False)
    root = found.folder
    layout = Layout(root, found.places.user, has_extra_paths=False)
    if not root.is_dir():
        return f"There is no folder {root}. {NAME_A_FOLDER}"
    # What else its settings name is not known, so only a folder without any is suspicious.
    is_known = found.index.is_file() or found.settings.is_file() or (root / FOLDER).is_dir()
    if is_known or _has_notes(layout):
        return None
    why = layout.refusal() or f"{root} has no Markdown files"
    return f"{why}. {NAME_A_FOLDER}"


def _has_notes(layout: Layout) -> bool:
    """Return whether there is a note, or so many folders that nobody would make them by mistake."""
    root = layout.root
    if any((root / name).is_file() for name in CURATED):
        return True
    try:
        folders = [root / name for name in layout.names() if not (root / name).is_file()]
    except WorkspaceError:
        return False
    for _ in range(_MOST_FOLDERS):
        if not folders:
            return False
        folder = folders.pop()
        try:
            with scan_inside(resolve_inside(folder, root), root) as entries:
                shown = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError:
            continue
        if any(entry.name.lower().endswith(".md") for entry in shown):
            return True
        folders += [folder / entry.name for entry in shown if entry.is_dir(follow_symlinks=False)]
    return True
