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
_EVERYTHING_BELOW = ["**", "*"]
_SIGN = re.compile(r"[*?[]")
_NOTHING = re.compile(r"(?!)")
_CACHED_PATTERNS = 256


def matches(path: str, pattern: str) -> bool:
    """Return whether the pattern matches the whole path.

    `*`, `?` and `[...]` stay within one folder, `**` crosses folders, and a trailing slash means
    everything below. A pattern without any other slash matches the name at any depth; a leading
    slash anchors it at the top.
    """
    return fits(path.removeprefix("./").split("/"), _compiled(pattern))


def is_literal(part: str) -> bool:
    """Return whether a pattern, or part of one, has no signs."""
    return _SIGN.search(part) is None


def escaped(path: str) -> str:
    """Return a pattern that matches this path alone."""
    return "/" + _SIGN.sub(r"[\g<0>]", path)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return `matches` for one pattern; a path without any sign is compared as a string."""
    parts = _parts(pattern)
    whole = "/".join(parts)
    if all(map(is_literal, parts)):
        return lambda path: path.removeprefix("./") == whole
    return lambda path: matches(path, pattern)


def matches_of(paths: Sequence[str], pattern: str) -> list[bool]:
    """Return `matches` of each path. Literal folders and bare names are compared as strings."""
    parts = _parts(pattern)
    literal = list(itertools.takewhile(is_literal, parts[:-1]))
    start = "".join(f"{part}/" for part in literal)
    rest = _compiled(pattern)[len(literal) :]
    cut = len(start)
    plain = [path.removeprefix("./") for path in paths]
    begins = [path.startswith(start) for path in plain]
    if parts[len(literal) :] == _EVERYTHING_BELOW:
        return begins
    match rest:
        case (None, re.Pattern() as name):
            return [
                fine and name.match(path[path.rfind("/", cut) + 1 or cut :]) is not None
                for fine, path in zip(begins, plain, strict=True)
            ]
    if parts[-1] == "*":  # any name: the folder decides
        plain = [path[: path.rfind("/") + 1] for path in plain]
    below = {path for fine, path in zip(begins, plain, strict=True) if fine}
    found = {path: fits(path[cut:].split("/"), rest) for path in below}
    return [fine and found[path] for fine, path in zip(begins, plain, strict=True)]


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
