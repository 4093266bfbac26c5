"""Parses what people and agents write: days (2026-02-01, yesterday, 7d), locations, sources."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from recollect.records import dataclass

SOURCES = ("memory", "sessions", "facts", "all")
_AGO = re.compile(r"(\d{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}
_FIRST_YEAR = 2
_LAST_YEAR = 9998
"""Earlier or later days do not start or end in every time zone."""
DEFAULT_LINES = 120
DAY_EXAMPLES = "2026-02-01, yesterday or 7d"
_LOCATION = re.compile(
    r"(?P<path>.+?)"
    r"(?:(?::|\#L)(?P<start>[1-9][0-9]{0,8})"
    r"(?:-L?(?P<end>[1-9][0-9]{0,8})|:(?P<lines>[1-9][0-9]{0,8}))?)?",
    re.DOTALL,
)


def parse_day(text: str) -> date:
    """Return the day that a text names.

    Raises:
        ValueError: it does not name a day.

    """
    text = text.strip().lower()
    today = datetime.now(tz=UTC).astimezone().date()
    if text in {"today", "yesterday"}:
        return today - timedelta(days=text == "yesterday")
    ago = _AGO.fullmatch(text)
    days = int(ago[1]) * _DAYS[ago[2]] if ago else None
    day = date.fromisoformat(text) if days is None else today - timedelta(days=days)
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError(text)
    return day


def parse_source(name: str) -> str | None:
    """Return the source that one of SOURCES means; None for all of them."""
    return None if name in {"", "all"} else name


def end_of(day: date | None) -> datetime | None:
    """Return the last moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.max).astimezone(UTC)


def start_of(day: date | None) -> datetime | None:
    """Return the first moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.min).astimezone(UTC)


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
