"""Paths that a user types: as the memory stores them, or relative to the current folder."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

from recollect.shells.cli.shared import notify
from recollect.text.confined import is_inside
from recollect.text.globs import escaped, is_literal


def path_in(workspace: Path, named: str) -> str:
    """Return a path as the memory stores it; in a subfolder it may be relative to that folder.

    It is if it exists there, and begins with a dot or does not exist in the workspace.
    """
    if os.path.isabs(named) and is_inside(os.path.normpath(named), workspace):  # noqa: PTH117
        return os.path.relpath(named, workspace).replace(os.sep, "/")
    here = Path.cwd()
    is_below = here != workspace and is_inside(here, workspace)
    is_own = not named.startswith(".") and os.path.lexists(workspace / named)
    if not is_below or is_own or not os.path.lexists(here / named):
        return named
    stored = os.path.relpath(here / named, workspace).replace(os.sep, "/")
    notify(f"Using {stored} of {workspace}.")
    return stored


def glob_in(workspace: Path, named: str) -> str | None:
    """Return the glob to search by; None for everything.

    A folder stands for everything in it. The folders before the first wildcard of a glob are a path
    like any other; a file or folder with wildcards in its name is not a glob.
    """
    if is_literal(named) or os.path.lexists(workspace / named) or os.path.lexists(named):
        stored = path_in(workspace, named)
        folder = stored.removeprefix("./").strip("/")
        if folder in {"", "."}:
            return None
        if (workspace / folder).is_dir():
            return f"{escaped(folder)}/"
        return stored if is_literal(stored) else escaped(stored)
    folder = "/".join(takewhile(is_literal, named.split("/")))
    rest = named[len(folder) :]
    stored = path_in(workspace, folder) if folder else folder
    if stored == folder:
        return named
    if stored == ".":
        return rest
    return (stored if is_literal(stored) else escaped(stored)) + rest
