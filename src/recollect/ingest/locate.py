"""Finds the file that a path names, or explains why it does not belong to the memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.ingest.folders import SKIPPED
from recollect.ingest.layout import FOLDER
from recollect.ingest.walk import IGNORE_FILE, extra_places, ignored_by, layout_of, walk
from recollect.text.confined import is_inside
from recollect.text.globs import matches

if TYPE_CHECKING:
    from recollect.ingest.folders import Found
    from recollect.ingest.options import WalkOptions


def locate(path: str, *, workspace: Path, options: WalkOptions) -> Found:
    """Return the memory file with this path, relative to the workspace or absolute.

    Raises:
        NotFoundError: the file does not exist, or is not a memory file.

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
        if what := _excluded_by(wanted, workspace=workspace, options=options):
            raise NotFoundError(
                f"{path} is excluded from this memory by {what}.",
                action="Remove it there to have it indexed.",
            )
        raise NotFoundError(
            f"{path} is not a memory file of this workspace.",
            action="`recollect search` shows the paths that can be read.",
        )
    raise missing(path, workspace=workspace)


def missing(path: str, *, workspace: Path) -> NotFoundError:
    """Return the error for a path that does not exist, or must not be known to exist."""
    return NotFoundError(
        f"There is no {path} in {workspace}.", action="Use a path as `recollect search` shows it."
    )


def _excluded_by(wanted: str, *, workspace: Path, options: WalkOptions) -> str:
    """Return what excludes a path, or a folder it is in; empty if nothing does."""
    parts = wanted.split("/")
    paths = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    excluded = (pattern.removesuffix("/") for pattern in options.exclude)
    if any(matches(path, pattern) for pattern in excluded for path in paths):
        return "the setting `exclude`"
    is_ignored, _ = ignored_by(workspace, shown=".")
    return IGNORE_FILE if is_ignored is not None and any(map(is_ignored, paths)) else ""


def why_not_indexed(folder: Path, *, workspace: Path, options: WalkOptions) -> str:
    """Return what leaves out the notes of a folder in the workspace; empty if nothing does."""
    wanted = os.path.relpath(folder, workspace).replace(os.sep, "/")
    # A note in it, because a pattern may exclude all that is in a folder, but not the folder.
    if what := _excluded_by(f"{wanted}/note.md", workspace=workspace, options=options):
        return what
    parts = wanted.split("/")
    if any(part.startswith(".") or part in SKIPPED for part in parts):
        return "its name"
    places = [Path(os.path.realpath(each)) for each in extra_places(workspace, options)]
    is_named = parts[0] == FOLDER or any(is_inside(folder, each) for each in places)
    is_inside_notes = is_named or layout_of(workspace, options=options).is_whole()
    return "" if is_inside_notes else f"only {FOLDER}/ and extra_paths being indexed"
