"""Matches globs against forward-slash paths, for scopes and extra paths.

It compares strings and never touches the file system. Patterns come from agents' queries, so
matching never takes more than time proportional to the path times the pattern.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return `matches` for many paths: it compares literal folders and bare names as strings."""
    compiled = _compiled(pattern)
    literal = list(itertools.takewhile(_is_literal, _parts(pattern)[:-1]))
    start = "".join(f"{part}/" for part in literal)
    rest = compiled[len(literal) :]
    name = rest[1] if len(rest) == 2 and rest[0] is _ANY_FOLDERS else None  # noqa: PLR2004

    def is_match(path: str) -> bool:
        path = path.removeprefix("./")
        if not path.startswith(start):
            return False
        if name is not None:
            return name.match(path[path.rfind("/", len(start)) + 1 or len(start) :]) is not None
        return fits(path[len(start) :].split("/"), rest)

    return is_match


def _is_literal(part: str) -> bool:
    return not any(sign in part for sign in "*?[")


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
    return tuple(
        # `translate` makes each `*` atomic, which keeps the regex from backtracking.
        _ANY_FOLDERS if part == "**" else re.compile(fnmatch.translate(part))
        for part in _parts(pattern)
    )


def _parts(pattern: str) -> list[str]:
    """Return the parts that those of a path are compared with, `**` for any folders."""
    parts = pattern.removeprefix("./").removesuffix("/").split("/")
    if len(parts) == 1:
        parts.insert(0, "**")
    elif not parts[0]:
        del parts[0]
    if pattern.endswith("/"):
        parts.append("**")
    if parts[-1] == "**":
        parts.append("*")  # everything below a folder, not the folder itself
    return parts


_compiled = lru_cache(maxsize=_CACHED_PATTERNS)(compile_glob)
