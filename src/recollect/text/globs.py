"""Matches globs and the rules of ignore files against forward-slash paths.

It compares strings and never touches the file system. Patterns come from agents' queries and from
strangers' files, so matching never takes more than time proportional to the path times the pattern.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    CompiledGlob = tuple[re.Pattern[str] | None, ...]

_ANY_FOLDERS = None
"""`**` in a compiled pattern."""
_EVERYTHING_BELOW = ["**", "*"]
_SIGN = re.compile(r"[*?[]")
_NOTHING = re.compile(r"(?!)")
_CACHED_PATTERNS = 256
_LIKE = 0.8  # similarity of a path that may be meant


def matches(path: str, pattern: str) -> bool:
    """Return whether the pattern matches the whole path.

    `*`, `?` and `[...]` stay within one folder, `**` crosses folders, and a trailing slash means
    everything below. A pattern without any other slash matches the name at any depth; a leading
    slash anchors it at the top.
    """
    return matcher(pattern)(path)


def is_literal(part: str) -> bool:
    """Return whether a pattern, or part of one, has no signs."""
    return _SIGN.search(part) is None


def escaped(path: str) -> str:
    """Return a pattern that matches this path alone."""
    return "/" + _SIGN.sub(r"[\g<0>]", path)


@lru_cache(maxsize=_CACHED_PATTERNS)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Return `matches` for one pattern; its literal folders are compared as strings."""
    parts = _parts(pattern)
    literal = list(itertools.takewhile(is_literal, parts[:-1]))
    start = "".join(f"{part}/" for part in literal)
    rest = compile_glob(pattern)[len(literal) :]
    is_whole = parts[len(literal) :] == _EVERYTHING_BELOW
    is_name = parts[len(literal) : -1] == ["**"]  # at any depth

    def is_match(path: str) -> bool:
        path = path.removeprefix("./")
        if is_whole or not path.startswith(start):
            return path.startswith(start)
        return fits(
            [path[path.rfind("/") + 1 :]] if is_name else path[len(start) :].split("/"), rest
        )

    return is_match


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


MAX_RULES = 1000
"""Every file is compared with every rule."""
_SPECIAL = re.compile(r"\\(.)|\[\^|\[\[:(\w+):\]\]", re.DOTALL)
_MANY_STARS = re.compile(r"(?<![^/])\*{3,}(?![^/])")
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    glob: CompiledGlob
    ignores: bool
    """False for a rule that takes a path back in."""
    folders_only: bool


class IgnoreRules:
    """The rules of one file; of those that match a path, the last decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines; a ValueError says which is not a rule, or that there are too many."""
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None][::-1]
        if len(self._rules) > MAX_RULES:
            raise ValueError(
                f"it has {len(self._rules)} rules, but at most {MAX_RULES} are allowed"
            )

    def ignores(self, path: str, *, may_be_folder: bool) -> bool:
        """Return whether a path, relative to the folder of the file, is ignored itself."""
        parts = path.split("/")
        for rule in self._rules:
            if (may_be_folder or not rule.folders_only) and fits(parts, rule.glob):
                return rule.ignores
        return False


def _rule(line: str) -> _Rule | None:
    """Return the rule on a line; None if there is none."""
    text = line.rstrip("\r\n")
    kept = text.rstrip(" ")
    if kept.endswith("\\") and len(kept) < len(text) and not kept.endswith("\\\\"):
        kept += " "  # escaped, so it belongs to the pattern
    if not kept or kept.startswith("#"):
        return None
    pattern = kept.removeprefix("!")
    name = pattern.rstrip("/")
    backslashes = len(name) - len(name.rstrip("\\"))
    if not name or backslashes % 2:
        raise ValueError(f"{line.strip()!r}")
    return _Rule(
        compile_glob(_SPECIAL.sub(_as_glob, _MANY_STARS.sub("**", name))),
        ignores=pattern == kept,
        folders_only=name != pattern,
    )


def _as_glob(special: re.Match[str]) -> str:
    """Return what only an ignore file can say in the words of a glob."""
    if special[1] is not None:
        return f"[{special[1]}]" if special[1] in "*?[" else special[1]
    if special[2] is None:
        return "[!"
    if special[2] not in _CLASSES:
        raise ValueError(f"[:{special[2]}:]")
    return f"[{_CLASSES[special[2]]}]"


def near_path(named: str, paths: Iterable[str]) -> str:
    """Return the path that is most like one that does not exist, whole or by its name; or ""."""
    from difflib import get_close_matches  # noqa: PLC0415 - only if a path is wrong

    whole = {path.strip("/").casefold(): path for path in paths}
    known = {path.rpartition("/")[2].removesuffix(".md"): whole[path] for path in whole} | whole
    near = get_close_matches(named.strip("/").casefold(), known, n=1, cutoff=_LIKE)
    return known[near[0]] if near else ""
