"""Globs over forward-slash paths, as scopes and extra paths use them.

It compares strings and knows no file system. Matching takes time proportional to path times
pattern whatever the pattern is, because patterns come from agents' queries.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_ANY_FOLDERS = None
"""Stands for `**` in a compiled pattern."""

_PATTERNS_KEPT = 256


def matches(path: str, pattern: str) -> bool:
    """Tell whether the pattern covers the whole path.

    `*`, `?` and `[...]` stay within one folder, `**` crosses folders, a trailing slash means
    everything below. A pattern with no other slash matches the name at any depth; a leading
    slash ties it to the top.
    """
    parts = path.removeprefix("./").split("/")
    compiled = _compiled(pattern)
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
            # Only the last `**` has to give way: an earlier one can gain nothing by it.
            retry_at = at = retry_at + 1
            place = retry_place
        else:
            return False
    return all(part is _ANY_FOLDERS for part in compiled[place:])


_NOTHING = re.compile(r"(?!)")


@lru_cache(maxsize=_PATTERNS_KEPT)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    parts = pattern.removeprefix("./").removesuffix("/").split("/")
    if len(parts) == 1:
        parts.insert(0, "**")
    elif not parts[0]:
        del parts[0]
    if pattern.endswith("/"):
        parts.append("**")
    if parts[-1] == "**":
        parts.append("*")  # what is below a folder, not the folder itself
    return tuple(
        # `translate` makes each `*` atomic, which is what keeps the regex from backtracking.
        _ANY_FOLDERS if part == "**" else re.compile(fnmatch.translate(part))
        for part in parts
    )
