"""Date words: "last Tuesday", "two weeks ago", "in March", "due on Friday", 昨天, 先週, 3月.

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
from recollect.text.terms import query_terms, terms

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
    """The words of the question that name them."""
    said_at: int = 0
    """Where in the question they begin."""
    is_relative: bool = False
    """Whether these words are relative to today: no note of those days repeats them."""
    is_ahead: bool = False
    """Whether it lies ahead: notes about it are written before, so none need be dated in it."""
    otherwise: Window | None = None
    """Window on the other side of today, if the question does not say which it means."""

    @property
    def end(self) -> date:
        """The last day on which a note about these days may be written."""
        return self.last + self.afterwards

    def holds(self, day: date | None) -> bool:
        """Return whether a day is one of those named; an evergreen text has no day."""
        return day is not None and self.first <= day <= self.last

    def weight(self, day: date | None) -> float:
        """Return how likely a note of that day is about these days: 1 on them, less afterwards."""
        if self.holds(day):
            return 1.0
        return _WEIGHT_AFTERWARDS if day is not None and self.last < day <= self.end else 0.0


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
_WEIGHT_AFTERWARDS = 0.5
"""But most notes of those later days are about something else."""
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTHS["sept"] = _MONTHS["sep"]

_PARTS = {
    "early": (1, 15), "beginning": (1, 10), "start": (1, 10), "mid": (8, 23), "middle": (8, 23),
    "late": (16, 31), "end": (21, 31),
    "first": (1, 7), "second": (8, 14), "third": (15, 21), "fourth": (22, 28),
}  # fmt: skip
"""The days of a part of a month, loosely; "first" to "fourth" are its weeks."""

_COUNT = rf"(?P<count>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})(?:\s+of)?\s+"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_DAY_NUMBER = r"(?P<day>[0-9]{1,2})[日号號일]"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_DAYS = rf"{_DAY}(?:\s*(?:[-–]|to|and)\s*(?P<to>[0-9]{{1,2}})(?:st|nd|rd|th)?)?"
_NOT_COUNTED = (
    r"(?!\s*(?:%|(?:times|seconds|minutes|hours|days|weeks|months|years|people|miles|km)\b)"
    r"|[.:][0-9]|,[0-9]{3}(?![0-9]))"
)
"""What may not follow the day of a month: it would be a count ("you may 5 times")."""
_NOT_WITHIN = r"(?<![-\w.,:])"
"""What may not precede a number: it would be part of a version or an identifier."""
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_NUMBERED_MONTH = r"(?P<number>1[0-2]|0?[1-9])"
_YEAR_AND_MONTH = rf"{_NOT_WITHIN}{_YEAR}-{_NUMBERED_MONTH}(?![-\w]|\.[0-9])"
_NUMBER = re.compile("[0-9]{1,4}(?:st|nd|rd|th)?")
_MOST_WORDS = 24
"""Words of a question for this week or month: a longer message says it in passing."""


def window(text: str, *, today: date) -> Window | None:
    """Return the days a question names, or None."""
    from recollect.text.foreign_dates import in_english  # noqa: PLC0415 - only to search

    if days := _read(text, today=today):
        return days
    if foreign := in_english(text):
        start, end, english = foreign
        days = _read(text[:start] + english + text[end:], today=today)
        return days and replace(days, said=text[start:end], said_at=start)
    return None


def without_passing_days(text: str, *, today: date) -> str:
    """Return a question without a day of a sentence that does not ask, if what asks needs none."""
    sentences = _SENTENCE_END.split(text)
    if asks_for_days(query_terms(" ".join(filter(_ASKS.search, sentences)))):
        return text
    return " ".join(each if _ASKS.search(each) else _undated(each, today) for each in sentences)


def _undated(text: str, today: date) -> str:
    days = window(text, today=today)
    return text[: days.said_at] + text[days.said_at + len(days.said) :] if days else text


def _read(text: str, *, today: date) -> Window | None:
    for pattern, reading in _READINGS:
        for found in pattern.finditer(text):
            if (days := reading(found, today)) is None:
                continue
            if _is_open_ended(found):
                days = Window(days.first, max(days.last, today))
            # A month is often named in the notes, too, and so is what lies ahead.
            is_relative = reading not in _NAMED and not days.is_ahead
            return replace(days, said=found[0], said_at=found.start(), is_relative=is_relative)
    return None


def _is_open_ended(found: re.Match[str]) -> bool:
    """Return whether the days last until today: "since June", "from June on"."""
    before, said = found.string[: found.start()].rstrip(), found[0].lower()
    if said.startswith("since") or before.lower().endswith("since"):
        return True
    return said.startswith("from") and bool(_ONWARDS.match(found.string, found.end()))


def asks_for_days(question: QueryTerms) -> bool:
    """Return whether a question with date words asks for those days themselves: "what happened"."""
    words = frozenset(each for each in question.terms if not _NUMBER.fullmatch(each))
    return question.stop | _general_terms() >= words


@cache
def _general_terms() -> frozenset[str]:
    from recollect.text.foreign_dates import NAMED, WHAT_HAPPENED  # noqa: PLC0415 - only to search

    words = "happen note entry diary journal log write wrote day week month year last this"
    named = (*words.split(), *_WEEKDAYS, *_MONTHS)
    return frozenset((*map(stem, named), *terms(" ".join((WHAT_HAPPENED, *NAMED)))))


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


def _calendar_unit(found: re.Match[str], today: date) -> Window | None:
    """Read "next week" and "last month" as those of the calendar, "this" only in a question.

    The days from a last one until today count less: "last month" also means the last thirty days,
    and people write about a day afterwards.
    """
    ahead = {"this": 0, "next": 1}.get(found["which"].lower(), -1)
    if not ahead and len(found.string.split()) > _MOST_WORDS:
        return None
    first, last = _whole_unit(found["unit"].lower(), today, ahead=ahead)
    return Window(first, last, max(today - last, timedelta()), is_ahead=ahead > 0)


def _whole_unit(unit: str, today: date, *, ahead: int) -> tuple[date, date]:
    """Return the first and last day of the week, month or year that is so many ahead."""
    if unit == "week":
        first = today + timedelta(days=7 * ahead - today.weekday())
        return first, first + timedelta(days=6)
    if unit == "year":
        return date(today.year + ahead, 1, 1), date(today.year + ahead, 12, 31)
    months = today.year * 12 + today.month - 1 + ahead
    first = date(months // 12, months % 12 + 1, 1)
    return first, _last_day(first.year, first.month)


def _last_weekend(found: re.Match[str], today: date) -> Window:
    """Return the Saturday and Sunday before this day; of a weekend that lasts, those before."""
    del found
    sunday = today - timedelta(days=today.weekday() + 1)
    return Window(sunday - timedelta(days=1), sunday)


def _weekday(found: re.Match[str], today: date) -> Window:
    number, which = _WEEKDAYS[found["weekday"].lower()], found["which"].lower()
    day = today - timedelta(days=(today.weekday() - number) % 7 or 7)
    past = Window(day, day)
    day = today + timedelta(days=(number - today.weekday()) % 7 or 7)
    ahead = Window(day, day, is_ahead=True)
    if which == "next":
        return ahead
    if which in ("last", "previous", "since"):
        return past
    if which in ("this", "by", "until", "till"):
        day = today + timedelta(days=(number - today.weekday()) % 7)
        ahead = Window(day, day, is_ahead=True)
        return _either(past, ahead, is_ahead=not _PAST.search(found.string))
    return _either(past, ahead, is_ahead=_is_ahead(found.string))


def _named_month(found: re.Match[str], today: date) -> Window | None:
    groups = found.groupdict()
    if groups.get("month") and not _is_month(found):
        return None
    if birthday_month(found.string):
        return None  # a note of any day may say it
    number = groups.get("number")
    month = int(number) if number else _MONTHS[groups["month"].lower()]
    day, part = groups.get("day"), groups.get("part")

    def days_in(year: int) -> Window | None:
        last = _last_day(year, month)
        if part:
            week = part.lower().startswith("last")
            low, high = (last.day - 6, 31) if week else _PARTS[re.split(r"\W", part.lower())[0]]
            return Window(last.replace(day=low), last.replace(day=min(high, last.day)), _AFTERWARDS)
        if not day:
            return Window(last.replace(day=1), last, _AFTERWARDS)
        begin, end = int(day), int(groups.get("to") or day)
        if not 1 <= begin <= end <= last.day:
            return None
        return Window(last.replace(day=begin), last.replace(day=end), _AFTERWARDS)

    if groups.get("year"):
        return days_in(int(groups["year"]))
    return _without_year(days_in, found, today)


def _is_month(found: re.Match[str]) -> bool:
    """Return whether the name of a month is not a verb or a person's name here.

    "May" in small letters or capitals is a month beside something that no verb is beside: in "step
    2 may fail" and "how long this may take" it is none.
    """
    said, month, groups = found.string, found["month"], found.groupdict()
    if _PERSON.match(said, found.start()):
        return False
    if month not in ("may", "MAY") or groups.get("year") or groups.get("part"):
        return True
    if _AFTER_A_DATE.match(said, found.end()):
        return True
    # The words before "may" that belong to the same phrase, whether or not the match has them.
    before = said[max(found.start("month") - _SIGN_CHARS, 0) : found.start("month")]
    is_numbered = groups.get("day") and found.start("day") > found.start("month")
    if is_numbered and said[found.end("day") : found.end("day") + 1].isalpha():
        return True  # "may 5th"
    sign = _SIGN_OF_DAY if is_numbered else _SIGN_OF_MONTH
    return bool(sign.search(before)) and not _VERB.match(said, found.end())


def _numbered_months(found: re.Match[str], today: date) -> Window | None:
    """Read "from 2024-03 to 2024-05"."""
    del today
    first = date(int(found["year"]), int(found["number"]), 1)
    last = _last_day(int(found["last_year"]), int(found["last_number"]))
    return Window(first, last, _AFTERWARDS) if first <= last else None


def birthday_month(text: str) -> str:
    """Return the month of the birthday that a question is about as `1994-11-30` has it."""
    if not _BIRTHDAY.search(text) or _PAST.search(text):
        return ""
    named = (_MONTHS[word] for word in re.findall("[a-z]+", text.lower()) if word in _MONTHS)
    return next((f"{number:02}" for number in named), "")


def _months(found: re.Match[str], today: date) -> Window | None:
    """Read "from May to June", of which each side may have a day and a year."""
    first, last = _MONTHS[found["month"].lower()], _MONTHS[found["last_month"].lower()]
    day = found["day"] or found["day_after"]
    last_day = found["last_day"] or found["last_day_after"]

    def days_in(year: int, last_year: int | None = None) -> Window | None:
        """Return the days that begin in this year."""
        last_year = last_year or year + (last < first)
        begin, end = _last_day(year, first).day, _last_day(last_year, last).day
        if not (1 <= int(day or 1) <= begin and 1 <= int(last_day or 1) <= end):
            return None
        opened = date(year, first, int(day or 1))
        closed = date(last_year, last, int(last_day or end))
        return Window(opened, closed, _AFTERWARDS) if opened <= closed else None

    if found["year"]:
        return days_in(int(found["year"]), int(found["last_year"] or 0))
    if found["last_year"]:
        return days_in(int(found["last_year"]) - (last < first))
    return _without_year(days_in, found, today)


def _last_day(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _without_year(
    days_in: Callable[[int], Window | None], found: re.Match[str], today: date
) -> Window | None:
    """Return the days of the latest year in which they have begun, or of the next one to come."""
    is_before = found.groupdict().get("last")
    years = range(max(today.year - 8, 1), min(today.year + 8, date.max.year))  # 29 February
    windows = [days for year in years if (days := days_in(year))]
    past = [days for days in windows if (days.last < today if is_before else days.first <= today)]
    ahead = [replace(days, is_ahead=True) for days in windows if days.last >= today]
    if is_before or not ahead:
        return past[-1] if past else None
    if found.groupdict().get("next") or not past:
        return next((days for days in ahead if days.first > today), None)
    if past[-1].last >= today:
        return past[-1]  # today is one of them
    if found.groupdict().get("this"):
        is_past = past[-1].first.year == today.year
        return _either(past[-1], ahead[0], is_ahead=not is_past)
    is_range = "last_month" in found.groupdict()  # "from June until August" says nothing of when
    said = found.string[: found.start()] + found.string[found.end() :] if is_range else found.string
    return _either(past[-1], ahead[0], is_ahead=_is_ahead(said))


def _is_ahead(text: str) -> bool:
    """Return whether a question is about what lies ahead."""
    return _AHEAD.search(text) is not None and not _PAST.search(text)


def _either(past: Window, ahead: Window, *, is_ahead: bool) -> Window:
    """Return the days that a question means, with the others beside them."""
    if is_ahead:
        return replace(ahead, otherwise=past)
    return replace(past, otherwise=ahead)


def _relative(days_first: int, days_last: int) -> Callable[[re.Match[str], date], Window]:
    """Return a reading as the days that are so many ahead of today; negative ones are past."""

    def reading(found: re.Match[str], today: date) -> Window:
        del found
        first, last = (today + timedelta(days=each) for each in (days_first, days_last))
        return Window(first, last, is_ahead=days_first > 0)

    return reading


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _compiled(pattern: str) -> re.Pattern[str]:
    # Of ASCII letters: else ſ would be an s, in words that no table has.
    return re.compile(pattern, re.IGNORECASE | re.ASCII)


_AHEAD = _compiled(  # Will is a name, but for the first word
    r"\b(?:due|deadlines?|until|till|next|upcoming|coming|(?-i:will)|expires?)\b|^\s*will\b"
)
_PAST = _compiled(r"\b(?:was|were|did|had)\b")
_SENTENCE_END = re.compile(r"(?:(?<=[!?])|(?<=\w{4}\.))\s+")  # "Dr." and "3." end none
_ASKS = re.compile("[?？]")
_BIRTHDAY = _compiled(r"\bbirthdays?\b")
_ONWARDS = _compiled(r"\s+on(?:wards?\b|\s*(?:$|[?.,;!]))")
_PERSON = _compiled(r"(?:by|of|from|this)\s+(?-i:April|May|June|Jan|August)\s+(?-i:[A-Z][a-z])")
_AFTER_A_DATE = _compiled(
    r"\s*(?:$|[?!.,;:)\"']|[-–]\s)|\s+(?:about|with|when|while|before|after|was|were|did"
    r"|(?:in|at)(?!\s+(?:fact|turn|theory|practice|principle|part|general|some|times|first)\b))\b"
)
"""What follows a date: the end of a clause, or a word that no verb after "may" is."""
_SIGN_CHARS = 24
_SIGN_OF_MONTH = _compiled(
    r"\b(?:in|during|since|of|from|by|until|till|on|before|after|between|(?<!the )(?:last|next))"
    r"\s+(?:[0-9]{1,2}(?:st|nd|rd|th)?\s+)?$"
)
_SIGN_OF_DAY = _compiled(r"\b(?:the|in|since|of|from|by|until|till|on|before|after|between)\s+$")
_VERB = _compiled(
    r"\s+(?:be|have|not|never|also|only|still|well|need|fail|break|take|cause|change|happen|help"
    r"|lead|differ|require|work)\b"
)
"""What often follows "may" if it is a verb."""
_AGO = _compiled(rf"(?:a )?{_COUNT}{_UNIT}\s+ago")
_FROM = (
    rf"(?:{_DAY}\s+(?:of\s+)?)?{_MONTH}\b\.?(?:\s+(?P<day_after>[0-9]{{1,2}})(?:st|nd|rd|th)?\b)?"
    rf"(?:,?\s+{_YEAR})?"
)
_TO = re.sub(r"\?P<", "?P<last_", _FROM)
_TO_MONTH = re.sub(r"\?P<", "?P<last_", _YEAR_AND_MONTH)
_READINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Window | None]], ...] = (
    (_compiled(r"\bday before yesterday\b|前天|一昨日|おととい"), _relative(-2, -2)),
    (_compiled(r"\byesterday\b|\blast night\b|昨天|昨日|어제"), _relative(-1, -1)),
    (_compiled(r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今日|오늘"),
     _relative(0, 0)),
    (_compiled(r"上周|上週|上星期|先週|지난주"), _relative(-13, -1)),
    (_compiled(r"上个月|上個月|先月|지난달"), _relative(-61, -1)),
    (_compiled(rf"\b(?:a )?{_COUNT}{_UNIT}\s+ago\b"), _days_ago),
    (_compiled(rf"\b(?:last|past|previous)\s+{_COUNT}{_UNIT}\b"), _past),
    (_compiled(rf"\b(?P<count>past)\s+{_UNIT}\b"), _past),
    (_compiled(r"\b(?P<which>last|previous|this)\s+(?P<unit>week|month|year)\b(?!\s+of\b)"),
     _calendar_unit),
    (_compiled(r"\b(?:last|past|previous)\s+weekend\b"), _last_weekend),
    (_compiled(r"\b(?P<which>last|previous|since|on|this|by|until|till|next)\s+"
               rf"(?P<weekday>{'|'.join(_WEEKDAYS)})\b"), _weekday),
    (_compiled(rf"\b(?:from\s+)?{_FROM}(?:\s*[-–]\s*|\s+(?:to|until|till|through)\s+){_TO}\b"),
     _months),
    (_compiled(rf"\b(?:between|in|during|of|from)\s+{_FROM}\s+and\s+{_TO}\b"), _months),
    (_compiled(rf"\b{_MONTH}\.?\s+{_DAYS}\b{_NOT_COUNTED}(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(rf"{_NOT_WITHIN}{_DAYS}\s+(?:of\s+)?{_MONTH}\b\.?(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(r"\b(?P<part>early|late|mid|(?:beginning|start|middle|end|"
               r"(?:first|second|third|fourth|last)\s+week)\s+of)(?:\s+|-\s*)"
               rf"{_MONTH}\b\.?(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(r"\b(?!(?:of|this|last|next)\s+march\s+on\b)"  # which is no month
               r"(?:in|during|since|of|from|by|until|till|(?P<this>this)|(?P<last>last)|(?P<next>next))\s+"
               rf"{_MONTH}\b\.?(?:,?\s+{_YEAR})?"), _named_month),
    (_compiled(rf"\b{_MONTH}\s+{_YEAR}\b"), _named_month),
    (_compiled(rf"(?:{_YEAR}[年년]\s?)?(?<![0-9]){_NUMBERED_MONTH}[月월](?:\s?{_DAY_NUMBER})?"),
     _named_month),
    (_compiled(rf"{_YEAR_AND_MONTH}(?:\s*–\s*|\s+(?:-|to|until|till|through)\s+){_TO_MONTH}"),
     _numbered_months),
    (_compiled(rf"\bbetween\s+{_YEAR_AND_MONTH}\s+and\s+{_TO_MONTH}"), _numbered_months),
    (_compiled(_YEAR_AND_MONTH), _named_month),
    (_compiled(r"\b(?P<which>next)\s+(?P<unit>week|month|year)\b"), _calendar_unit),
    (_compiled(r"\bday after tomorrow\b|明後日"), _relative(2, 2)),
    (_compiled(r"\btomorrow\b|明天|明日|내일"), _relative(1, 1)),
)  # fmt: skip
"""Readings of date words; of several in a question the first of these counts."""
_NAMED = (_named_month, _months, _numbered_months)
