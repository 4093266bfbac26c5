"""Days: those that people write (2026-02-01, 7d, last week), and those of a moment.

A text that names no day is a ValueError, and a QueryError where a caller of the library means one.
Years 1 and 9999 have an end that no time zone shows.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from recollect.errors import QueryError

if TYPE_CHECKING:
    from datetime import tzinfo

_COUNTED = re.compile(r"(\d{1,5})([dw])")
_ISO = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}")
_DAYS = {"d": 1, "w": 7}
_FIRST_YEAR = 2
_LAST_YEAR = 9998
"""Earlier or later days do not start or end in every time zone."""
MAX_DAY_CHARS = 60
"""A longer text does not name a day."""
DAY_EXAMPLES = "2026-02-01, yesterday, 7d, last week or March"
COMING_EXAMPLES = "2027-02-01, or 90d for 90 days from now"


def parse_day(text: str) -> date:
    """Return the day that a text names; of a week, month or year its first day."""
    text = text.strip().lower()
    if len(text) > MAX_DAY_CHARS:
        raise ValueError("The text is too long for a day.")
    today = datetime.now(tz=UTC).astimezone().date()
    if ago := _COUNTED.fullmatch(text):
        day = today - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
    else:
        day = _named_day(text, today) or date.fromisoformat(text)
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError(text)
    return day


def _named_day(text: str, today: date) -> date | None:
    if _ISO.fullmatch(text):
        return None
    from recollect.text.date_words import first_day  # noqa: PLC0415 - compiles its patterns

    return first_day(text, today=today)


def parse_coming_day(text: str) -> date:
    """Return the day that a text names, which is not over; 7d counts from today on."""
    text = text.strip().lower()
    today = datetime.now(tz=UTC).astimezone().date()
    if counted := _COUNTED.fullmatch(text):
        day = today + timedelta(days=int(counted[1]) * _DAYS[counted[2]])
    else:
        day = today if text == "today" else date.fromisoformat(text)
    if day < today or day.year > _LAST_YEAR:
        raise ValueError(text)
    return day


def end_of(day: date | None) -> datetime | None:
    """Return the last moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.max).astimezone(UTC)


def start_of(day: date | None) -> datetime | None:
    """Return the first moment of a day in the local time zone."""
    return None if day is None else datetime.combine(day, time.min).astimezone(UTC)


def day_of(value: date | str | None) -> date | None:
    """Return the day that a caller means by a date, a moment or a text."""
    if isinstance(value, datetime):
        return local_day(value)
    if value is None or isinstance(value, date):
        return value
    try:
        return parse_day(str(value))
    except ValueError:
        raise QueryError(
            f"{value!r} is not a day.", action=f"Write {DAY_EXAMPLES}, or pass a date."
        ) from None


def moment_of(value: date | str | None) -> datetime | None:
    """Return the moment that a caller means: of a day its end, in the local time zone."""
    if isinstance(value, str) and "T" in value:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = day_of(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return end_of(day_of(value))


def local_day(moment: datetime, zone: tzinfo | None = None) -> date:
    """Return the day of a moment in a time zone; None is the local one.

    At the very first and last day that a date can have it is the day in the moment's own zone: the
    local one would be out of range.
    """
    try:
        return moment.astimezone(zone).date()
    except (OverflowError, ValueError, OSError):  # the last on a system without such years
        return moment.date()
