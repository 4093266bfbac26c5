"""Finding the memory file that a path names: only what a walk finds can be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.ingest.walk import walk

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.ingest.walk import Found, WalkOptions


def locate(path: str, *, workspace: Path, options: WalkOptions) -> Found:
    """Return the memory file with this path, relative to the workspace or absolute.

    Raises:
        NotFoundError: there is no such file, or it is not a memory file.

    """
    found, failures = walk(workspace, options=options)
    wanted = os.path.relpath(os.path.normpath(workspace / path), workspace).replace(os.sep, "/")
    for each in found:
        if each.path == wanted:
            return each
    for failure in failures:
        if failure.path == wanted:
            raise NotFoundError(f"{path}: {failure.reason}", action=failure.action)
    if os.path.lexists(workspace / path):
        raise NotFoundError(
            f"{path} is not a memory file of this workspace.",
            action="Only MEMORY.md, USER.md, memory/**/*.md and the extra paths can be read.",
        )
    raise NotFoundError(
        f"There is no {path} in {workspace}.", action="Use a path as `recollect search` shows it."
    )
