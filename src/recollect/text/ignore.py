"""Reads the rules of an ignore file, in the words of .gitignore, and compares paths with them.

Threat: the file comes from someone else. A pattern such as `*a*a*a*a*b` as one regular expression
takes minutes for a long name, so patterns are globs here, which take time proportional to pattern
and path. It never touches the file system.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.globs import compile_glob, fits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.text.globs import CompiledGlob

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
        """Read the lines.

        Raises:
            ValueError: a line is not a rule, or there are too many.

        """
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None][::-1]
        if len(self._rules) > MAX_RULES:
            raise ValueError(
                f"it has {len(self._rules)} rules, but at most {MAX_RULES} are allowed"
            )

    def ignores(self, path: str, *, may_be_folder: bool) -> bool:
        """Return whether a path, relative to the folder of the file, is ignored itself.

        Whether a folder that it is in is ignored is not looked at. `may_be_folder` applies rules
        for folders.
        """
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
