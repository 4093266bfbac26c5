"""Parses the locations that people and agents write."""

from __future__ import annotations

import re

from recollect.records import dataclass

DEFAULT_LINES = 120
_LOCATION = re.compile(
    r"(?P<path>.+?)"
    r"(?:(?::|\#L)(?P<start>[1-9][0-9]{0,8})"
    r"(?:-L?(?P<end>[1-9][0-9]{0,8})|:(?P<lines>[1-9][0-9]{0,8}))?)?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Location:
    """A file, and the lines of it if any were given."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    """The last line, if one was given."""
    lines: int | None = None
    """The number of lines, if it was given."""

    def window(self, start: int | None, lines: int | None) -> tuple[int, int]:
        """Return the first line to read and how many; the arguments win over the location."""
        first = start or self.start_line or 1
        until_end = None if self.end_line is None else max(self.end_line - first + 1, 1)
        return first, lines or until_end or self.lines or DEFAULT_LINES


def parse_location(text: str) -> Location:
    """Parse PATH, PATH:FROM, PATH:FROM:LINES, PATH:FROM-TO or PATH#LFROM-LTO."""
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
