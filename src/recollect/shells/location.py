"""Where in which file: the ways in which people and agents write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOCATION = re.compile(
    r"(?P<path>.+?)"
    r"(?:(?::|\#L)(?P<start>[1-9][0-9]{0,8})"
    r"(?:-L?(?P<end>[1-9][0-9]{0,8})|:(?P<lines>[1-9][0-9]{0,8}))?)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Location:
    """A file, and which lines of it if any were named."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    """The last line, where a last one was named."""
    lines: int | None = None
    """How many, where a number was named."""

    def lines_from(self, first: int) -> int | None:
        """Return how many lines are meant, read from there; None where nothing says it."""
        return self.lines if self.end_line is None else max(self.end_line - first + 1, 1)


def parse_location(text: str) -> Location:
    """Return what is meant by PATH, PATH:FROM, PATH:FROM:LINES, PATH:FROM-TO or PATH#LFROM-LTO."""
    parts = _LOCATION.fullmatch(text)
    if parts is None or parts["start"] is None:
        return Location(text)
    end, lines = parts["end"], parts["lines"]
    return Location(
        parts["path"],
        int(parts["start"]),
        end_line=int(end) if end else None,
        lines=int(lines) if lines else None,
    )
