"""Date words: "last Tuesday", "two weeks ago", "in March", 昨天, 先週, 3月.

In a question they become a window of days, in an option the day on which that window begins.
Whether notes of those days are better answers is decided elsewhere.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.scripts import stem

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.text.terms import QueryTerms


@dataclass(frozen=True, slots=True)
class Window:
    """Days from the first to the last, inclusive, and for how long they are written about."""

    first: date
    last: date
    afterwards: timedelta = timedelta()
    """How long after the last day a note may still be about these days."""
    said: str = ""
    """The words of the question that are relative to today: no note of those days repeats them."""

    @property
    def end(self) -> date:
        """The last day on which a note about these days may be written."""
        return self.last + self.afterwards

    def holds(self, day: date | None) -> bool:
        """Tell whether a day is in the window; an evergreen text has no day."""
        return day is not None and self.first <= day <= self.end


_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one past", "two couple", "three few", "four", "five", "six", "seven", "eight",
         "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}  # fmt: skip
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_SLACK_DAYS = {"day": 1, "week": 4, "month": 16, "year": 183}
"""How loosely people count: "four weeks ago" is seldom exactly 28 days."""
_AFTERWARDS = timedelta(days=3)
"""A note about a day is often written a few days later."""
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTHS["sept"] = _MONTHS["sep"]

_COUNT = rf"(?P<count>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})(?:\s+of)?\s+"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_DAY_NUMBER = r"(?P<day>[0-9]{1,2})[日号號일]"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_NUMBERED_MONTH = r"(?P<number>1[0-2]|0?[1-9])"


def window(text: str, *, today: date) -> Window | None:
    """Return the days a question names, or None."""
    for pattern, reading in _READINGS:
        if (found := pattern.search(text)) and (days := reading(found, today)):
            # A month is often named in the notes, too.
            return days if reading is _named_month else replace(days, said=found[0])
    return None


def asks_for_days(question: QueryTerms) -> bool:
    """Tell whether a question with date words asks for those days themselves: "what happened"."""
    return question.stop | _general_terms() >= frozenset(question.terms)


@cache
def _general_terms() -> frozenset[str]:
    words = "happen note entry diary journal log write wrote day week month year last this"
    return frozenset(map(stem, [*words.split(), *_WEEKDAYS, *_MONTHS]))


def first_day(text: str, *, today: date) -> date | None:
    """Return the day on which the days that a text names begin; None if it names none.

    "Two weeks ago" is exactly that: only in a question is it meant loosely.
    """
    if ago := _AGO.fullmatch(text):
        return today - timedelta(days=_number(ago["count"]) * _UNITS[ago["unit"].lower()])
    for pattern, reading in _READINGS:
        for spelled in (text, f"in {text}", f"on {text}"):
            if (found := pattern.fullmatch(spelled)) and (days := reading(found, today)):
                return days.first
    return None


def _days_ago(found: re.Match[str], today: date) -> Window:
    unit = found["unit"].lower()
    middle = today - timedelta(days=_number(found["count"]) * _UNITS[unit])
    slack = timedelta(days=_SLACK_DAYS[unit])
    return Window(middle - slack, min(middle + slack, today))


def _past(found: re.Match[str], today: date) -> Window:
    length = _number(found["count"]) * _UNITS[found["unit"].lower()]
    return Window(today - timedelta(days=length), today)


def _calendar_unit(found: re.Match[str], today: date) -> Window:
    """Read "this week" and "last month" from the unit's first day on.

    Up to today, because "last month" also means the last thirty days, and people write about
    a day afterwards.
    """
    unit = found["unit"].lower()
    back = 0 if found["which"].lower() == "this" else 1
    if unit == "week":
        return Window(today - timedelta(days=today.weekday() + 7 * back), today)
    if unit == "year":
        return Window(date(today.year - back, 1, 1), today)
    months = today.year * 12 + today.month - 1 - back
    return Window(date(months // 12, months % 12 + 1, 1), today)


def _weekday(found: re.Match[str], today: date) -> Window:
    back = (today.weekday() - _WEEKDAYS[found["weekday"].lower()]) % 7 or 7
    day = today - timedelta(days=back)
    return Window(day, day)


def _named_month(found: re.Match[str], today: date) -> Window | None:
    groups = found.groupdict()
    number = groups.get("number")
    month = int(number) if number else _MONTHS[groups["month"].lower()]
    # Without a year, the latest one that is not in the future.
    named = (month, int(groups.get("day") or 1))
    is_earlier = named > (today.month, today.day) or (groups.get("last") and month == today.month)
    year = int(groups.get("year") or today.year - bool(is_earlier))
    days = calendar.monthrange(year, month)[1]
    if not groups.get("day"):
        return Window(date(year, month, 1), date(year, month, days), _AFTERWARDS)
    if not 1 <= int(groups["day"]) <= days:
        return None
    day = date(year, month, int(groups["day"]))
    return Window(day, day, _AFTERWARDS)


def _relative(days_first: int, days_last: int) -> Callable[[re.Match[str], date], Window]:
    def reading(found: re.Match[str], today: date) -> Window:
        del found
        return Window(today - timedelta(days=days_first), today - timedelta(days=days_last))

    return reading


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _compiled(pattern: str) -> re.Pattern[str]:
    # Of ASCII letters: else ſ would be an s, in words that no table has.
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


_AGO = _compiled(rf"(?:a )?{_COUNT}{_UNIT}\s+ago")
_READINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Window | None]], ...] = (
    (_compiled(r"\bday before yesterday\b|前天|一昨日|おととい"), _relative(2, 2)),
    (_compiled(r"\byesterday\b|\blast night\b|昨天|昨日|어제"), _relative(1, 1)),
    (_compiled(r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今日|오늘"),
     _relative(0, 0)),
    (_compiled(r"上周|上週|上星期|先週|지난주"), _relative(13, 1)),
    (_compiled(r"上个月|上個月|先月|지난달"), _relative(61, 1)),
    (_compiled(rf"\b(?:a )?{_COUNT}{_UNIT}\s+ago\b"), _days_ago),
    (_compiled(rf"\b(?:last|past|previous)\s+{_COUNT}{_UNIT}\b"), _past),
    (_compiled(rf"\b(?P<count>past)\s+{_UNIT}\b"), _past),
    (_compiled(r"\b(?P<which>last|previous|this)\s+(?P<unit>week|month|year)\b"), _calendar_unit),
    (_compiled(rf"\b(?:last|on|this|previous|since)\s+(?P<weekday>{'|'.join(_WEEKDAYS)})\b"),
     _weekday),
    (_compiled(rf"\b{_MONTH}\.?\s+{_DAY}\b(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\b(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(r"\b(?:in|during|since|(?P<last>last)|of|from)\s+(?:early\s+|late\s+|mid-?\s*)?"
               rf"{_MONTH}\b\.?(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(rf"\b{_MONTH}\s+{_YEAR}\b"), _named_month),
    (_compiled(rf"(?:{_YEAR}[年년]\s?)?(?<![0-9]){_NUMBERED_MONTH}[月월](?:\s?{_DAY_NUMBER})?"),
     _named_month),
    (_compiled(rf"\b{_YEAR}-{_NUMBERED_MONTH}(?![-0-9])"), _named_month),
)  # fmt: skip
