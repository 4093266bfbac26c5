"""Days as people write them: 2026-02-01, today, yesterday, 7d or 2w ago."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

_AGO = re.compile(r"(\d{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}
_FIRST_YEAR = 2
_LAST_YEAR = 9998
"""Earlier or later days do not start or end in every time zone."""
DAY_EXAMPLES = "2026-02-01, yesterday or 7d"


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


def end_of(day: date | None) -> datetime | None:
    """Return the last moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.max).astimezone(UTC)


def start_of(day: date | None) -> datetime | None:
    """Return the first moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.min).astimezone(UTC)
