"""Matches globs against forward-slash paths, for scopes and extra paths.

It compares strings and never touches the file system. Patterns come from agents' queries, so
matching never takes more than time proportional to the path times the pattern.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    CompiledGlob = tuple[re.Pattern[str] | None, ...]

_ANY_FOLDERS = None
"""`**` in a compiled pattern."""
_NOTHING = re.compile(r"(?!)")
_CACHED_PATTERNS = 256


def matches(path: str, pattern: str) -> bool:
    """Return whether the pattern matches the whole path.

    `*`, `?` and `[...]` stay within one folder, `**` crosses folders, and a trailing slash means
    everything below. A pattern without any other slash matches the name at any depth; a leading
    slash anchors it at the top.
    """
    return fits(path.removeprefix("./").split("/"), _compiled(pattern))


def fits(parts: Sequence[str], compiled: CompiledGlob) -> bool:
    """Return whether a compiled pattern matches the parts of a path."""
    at = place = 0
    retry_at, retry_place = 0, -1
    while at < len(parts):
        wanted = compiled[place] if place < len(compiled) else _NOTHING
        if wanted is _ANY_FOLDERS:
            place += 1
            retry_at, retry_place = at, place
        elif wanted.match(parts[at]):
            at, place = at + 1, place + 1
        elif retry_place >= 0:
            # Only the last `**` needs to backtrack: trying an earlier one cannot help.
            retry_at = at = retry_at + 1
            place = retry_place
        else:
            return False
    return all(part is _ANY_FOLDERS for part in compiled[place:])


def compile_glob(pattern: str) -> CompiledGlob:
    """Return a pattern in the form that `fits` takes."""
    parts = pattern.removeprefix("./").removesuffix("/").split("/")
    if len(parts) == 1:
        parts.insert(0, "**")
    elif not parts[0]:
        del parts[0]
    if pattern.endswith("/"):
        parts.append("**")
    if parts[-1] == "**":
        parts.append("*")  # everything below a folder, not the folder itself
    return tuple(
        # `translate` makes each `*` atomic, which keeps the regex from backtracking.
        _ANY_FOLDERS if part == "**" else re.compile(fnmatch.translate(part))
        for part in parts
    )


_compiled = lru_cache(maxsize=_CACHED_PATTERNS)(compile_glob)
