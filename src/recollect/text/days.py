"""Tells the day of a moment on a calendar. Years 1 and 9999 have an end that no time zone shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo


def local_day(moment: datetime, zone: tzinfo | None = None) -> date:
    """Return the day of a moment in a time zone; None is the local one.

    At the very first and last day that a date can have it is the day in the moment's own zone: the
    local one would be out of range.
    """
    try:
        return moment.astimezone(zone).date()
    except (OverflowError, ValueError, OSError):  # the last on a system without such years
        return moment.date()
