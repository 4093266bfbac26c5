"""Tells whether a folder that is about to be served is probably the wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.config.paths import find_workspace
from recollect.errors import WorkspaceError
from recollect.ingest.layout import FOLDER, NAME_A_FOLDER, Layout
from recollect.ingest.options import WalkOptions
from recollect.ingest.walk import require_notes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


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
    root, user = found.folder, found.places.user
    if not root.is_dir():
        return f"There is no folder {root}. {NAME_A_FOLDER}"
    # What else its settings name is not known, so only a folder without any is suspicious.
    if found.index.is_file() or found.settings.is_file() or (root / FOLDER).is_dir():
        return None
    try:
        Layout(root, user, has_extra_paths=False).require()
        require_notes(root, options=WalkOptions(user_home=user))
    except WorkspaceError as error:
        return f"{error.message.replace(', so nothing is indexed', '')} {error.action}"
    return None
