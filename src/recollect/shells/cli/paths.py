"""Paths that a user types: as the memory stores them, or relative to the current folder."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.shells.cli.shared import notify
from recollect.text.confined import is_inside
from recollect.text.globs import escaped, is_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def path_in(workspace: Path, named: str, *, paths: Callable[[], Collection[str]]) -> str:
    """Return a path as the memory stores it; in a subfolder it may be relative to that folder.

    It is if it begins with a dot, or if the workspace has no such path; but a path that is stored
    as it was typed always wins. The user is told which one is used.

    Args:
        workspace: the folder of the memory.
        named: what was typed.
        paths: returns all that are stored.

    """
    if os.path.isabs(named) and is_inside(os.path.normpath(named), workspace):  # noqa: PTH117
        return os.path.relpath(named, workspace).replace(os.sep, "/")
    here = Path.cwd()
    if here == workspace or not is_inside(here, workspace):
        return named
    stored = os.path.relpath(here / named, workspace).replace(os.sep, "/")
    start = named.split("/", maxsplit=1)[0]
    leads_out = stored.split("/")[0] == ".."
    is_here = os.path.lexists(here / named) and (not leads_out or _is_stored(stored, paths()))
    if not is_here and (leads_out or start not in {".", ".."}):
        return named
    means_here = start == "." or (start == ".." and is_here)
    is_own = not means_here and os.path.lexists(workspace / named)
    if is_own or _is_stored(named, paths()):
        if is_here:
            notify(f"Using {named} of {workspace}. For the one in this folder: ./{named}")
        return named
    notify(f"Using {stored} of {workspace}.")
    return stored


def glob_in(workspace: Path, named: str, *, paths: Callable[[], Collection[str]]) -> str | None:
    """Return the glob to search by; None for everything.

    A folder stands for everything in it. The folders before the first wildcard of a glob are a path
    like any other; a file or folder with wildcards in its name is not a glob.
    """
    if is_literal(named) or os.path.lexists(workspace / named) or os.path.lexists(named):
        stored = path_in(workspace, named, paths=paths)
        folder = stored.removeprefix("./").strip("/")
        if folder in {"", "."}:
            return None
        if (workspace / folder).is_dir():
            return f"{escaped(folder)}/"
        return stored if is_literal(stored) else escaped(stored)
    folder = "/".join(takewhile(is_literal, named.split("/")))
    rest = named[len(folder) :]
    stored = path_in(workspace, folder, paths=paths) if folder else folder
    if stored == folder:
        return named
    if stored == ".":
        return rest
    return (stored if is_literal(stored) else escaped(stored)) + rest


def _is_stored(path: str, paths: Collection[str]) -> bool:
    """Return whether a file has this path, or one below it; `..` alone is relative to a folder."""
    below = f"{path.rstrip('/')}/"
    is_named = bool(path.strip("./"))
    return is_named and (path in paths or any(each.startswith(below) for each in paths))
