"""Finding the memory file that a path names: only what a walk finds can be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.ingest.ignore import IGNORE_FILE, ignored_by
from recollect.ingest.walk import walk
from recollect.text.globs import matches

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
        if what := _left_out_by(wanted, workspace=workspace, options=options):
            raise NotFoundError(
                f"{path} is left out of this memory by {what}.",
                action="Take it out there to have it read and found.",
            )
        raise NotFoundError(
            f"{path} is not a memory file of this workspace.",
            action="Only MEMORY.md, USER.md, memory/**/*.md and the extra paths can be read.",
        )
    raise NotFoundError(
        f"There is no {path} in {workspace}.", action="Use a path as `recollect search` shows it."
    )


def _left_out_by(wanted: str, *, workspace: Path, options: WalkOptions) -> str:
    """Return what leaves a path out, or a folder it is in; empty when nothing does."""
    parts = wanted.split("/")
    paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    excluded = (pattern.removesuffix("/") for pattern in options.exclude)
    if any(matches(path, pattern) for pattern in excluded for path in paths):
        return "the setting `exclude`"
    is_ignored, _ = ignored_by(workspace, shown=".")
    return IGNORE_FILE if is_ignored is not None and any(map(is_ignored, paths)) else ""
