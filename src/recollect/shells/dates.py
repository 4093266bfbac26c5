"""Days as they are written: 2026-02-01, today, yesterday, or 7d, 2w ago."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

import click

_AGO = re.compile(r"(\d{1,5})([dw])")
_DAYS = {"d": 1, "w": 7}
FIRST_YEAR = 2
LAST_YEAR = 9998
"""Days beyond these have no beginning or end in every time zone."""


class Day(click.ParamType[date]):
    """A day, absolute or counted back from today."""

    name = "day"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> date:
        """Return the day, or fail with what a day looks like."""
        day = value if isinstance(value, date) else _read(str(value).strip().lower())
        if day is None or not FIRST_YEAR <= day.year <= LAST_YEAR:
            self.fail(f"{value!r} is not a day such as 2026-02-01, yesterday or 7d", param, ctx)
        return day


DAY = Day()


def _read(text: str) -> date | None:
    today = datetime.now(tz=UTC).astimezone().date()
    if text in {"today", "yesterday"}:
        return today - timedelta(days=text == "yesterday")
    if ago := _AGO.fullmatch(text):
        return today - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def end_of(day: date | None) -> datetime | None:
    """Return the last moment of a day by the user's own calendar."""
    if day is None:
        return None
    return datetime.combine(day, time.max).astimezone(UTC)


def start_of(day: date | None) -> datetime | None:
    """Return the first moment of a day by the user's own calendar."""
    return None if day is None else datetime.combine(day, time.min).astimezone(UTC)
