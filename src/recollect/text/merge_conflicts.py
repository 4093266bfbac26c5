"""Finds the conflicts that a merge left in a text, such as git's.

    <<<<<<< HEAD
    one side
    ||||||| base          (only in the diff3 style)
    what both sides changed
    =======
    the other side
    >>>>>>> laptop

Only a whole conflict counts: `=======` alone underlines a heading, `>>>>>>>` quotes.
One inside a fenced code block is an example. This module knows lines, not files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = re.compile(r"(?:(<<<<<<<)|(\|\|\|\|\|\|\|)|(>>>>>>>))(?: .*)?$|(=======)$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")

RESOLVE = "Keep the lines you want and delete the markers."
"""What to do about a conflict."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Where a conflict is; line numbers are 1-based."""

    start: int
    """The line with `<<<<<<<`."""
    middle: int
    """The line with `=======`."""
    end: int
    """The line with `>>>>>>>`."""
    base: int | None = None
    """The line with `|||||||`, if there is one."""

    @property
    def reason(self) -> str:
        """What to tell the user, after the path and the line."""
        return f"begins a merge conflict, which ends on line {self.end}; both sides are searched"

    @property
    def unread(self) -> tuple[int, ...]:
        """The lines that neither side has: the markers, and what both sides changed."""
        base = range(self.base or self.middle, self.middle)
        return (self.start, *base, self.middle, self.end)


def find_conflicts(lines: Sequence[str]) -> tuple[Conflict, ...]:
    """Return the conflicts in the lines, with or without their line ends."""
    if not any(line.startswith("<<<<<<<") for line in lines):
        return ()
    found: list[Conflict] = []
    start = base = middle = 0
    closing = _fences(lines)
    until = 0  # last line of the code block
    for number, line in enumerate(lines, 1):
        if not start and number in closing and number > until:
            until = closing[number]
        mark = _MARK.match(line.rstrip()) if number > until else None
        if mark is None:
            continue
        begins, ancestor, ends, halves = mark.groups()
        if begins:
            start, base, middle = number, 0, 0
        elif ancestor and not middle:
            base = base or number
        elif halves:
            middle = middle or number
        elif ends and start and middle:
            found.append(Conflict(start, middle, number, base or None))
            start = 0
    return tuple(found)


def without_markers(lines: Sequence[str], conflicts: Sequence[Conflict]) -> list[str]:
    """Return the lines of both sides; the markers and what both sides changed become empty."""
    unread = {number for conflict in conflicts for number in conflict.unread}
    return ["" if number in unread else line for number, line in enumerate(lines, 1)]


def _fences(lines: Sequence[str]) -> dict[int, int]:
    """Return the last line of each code block by its first; unclosed ones do not count."""
    found: dict[int, int] = {}
    opened, fence = 0, ""
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if fence and text.startswith(fence) and not text.strip(fence[0]):
            found[opened], fence = number, ""
        elif not fence and (begin := _FENCE.match(line.rstrip())):
            opened, fence = number, begin[1]
    return found
