"""The shape of a Case in JSON: strict about names and values, generous about how a place is named.

A place may be a path, "path:10-24", a citation "path#L10-L24" or an object with lines and grade.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from datetime import date
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.evaluate.case import DEFAULT_KIND, Case, Expected

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MOST_GRADE = 5
"""Gains double with every grade: beyond this one place would outweigh all others."""
_KEYS = ("query", "expected", "kind", "type", "since", "before", "path", "date", "note")
_PLACE_KEYS = ("path", "lines", "grade")
_LOCATION = re.compile(
    r"(?P<path>.+?)(?:(?::|\#L)(?P<first>[1-9][0-9]*)(?:-L?(?P<last>[1-9][0-9]*))?)?"
)
_PLACES = 'Give paths, "path:10-24", or {"path": …, "lines": [10, 24], "grade": 1}.'


def case_of(entry: object, *, where: str, line: int = 0) -> Case:
    """Return the case that one JSON value describes.

    Args:
        entry: the value, as the JSON reader gives it.
        where: file and line, to be named with a mistake.
        line: number of that line.

    Raises:
        UsageError: it is no case; the message says why.

    """
    if not isinstance(entry, dict):
        raise UsageError(
            f"{where}: a case is a JSON object.", action='Write {"query": …, "expected": […]}.'
        )
    _check_keys(entry, _KEYS, where=where)
    if "expected" not in entry:
        raise UsageError(
            f"{where}: the case has no `expected`.",
            action=f"{_PLACES} An empty list says that memory does not hold the answer.",
        )
    since, before = _day(entry, "since", where=where), _day(entry, "before", where=where)
    if since and before and since >= before:
        raise UsageError(
            f"{where}: no day is on or after {since} and before {before}.",
            action="Give `since` an earlier day than `before`.",
        )
    return Case(
        query=_text(entry.get("query"), "query", where=where),
        expected=_expected(entry["expected"], where=where),
        kind=_text(entry.get("kind", entry.get("type", DEFAULT_KIND)), "kind", where=where),
        since=since,
        before=before,
        path=_text(entry["path"], "path", where=where) if "path" in entry else None,
        asked=_day(entry, "date", where=where),
        line=line,
    )


def case_json(case: Case) -> Mapping[str, object]:
    """Return the shape in which a case is written: `case_of` reads it back."""
    days = {"since": case.since, "before": case.before, "date": case.asked}
    return {
        "query": case.query,
        "expected": [_place_json(place) for place in case.expected],
        "kind": case.kind,
        **({"path": case.path} if case.path else {}),
        **{name: day.isoformat() for name, day in days.items() if day},
    }


def place_of(given: object, *, where: str) -> Expected:
    """Return the place that a text or one JSON value names.

    Raises:
        UsageError: it is no place; the message says why, and begins with `where`.

    """
    if isinstance(given, str):
        parts = _LOCATION.fullmatch(_text(given, "expected", where=where))
        assert parts is not None  # noqa: S101 - any text that is not empty has a path
        first = int(parts["first"]) if parts["first"] else None
        return _checked(
            parts["path"], first, int(parts["last"]) if parts["last"] else first, where=where
        )
    if not isinstance(given, dict):
        raise UsageError(f"{where}: {given!r} is no place.", action=_PLACES)
    _check_keys(given, _PLACE_KEYS, where=where)
    path = _text(given.get("path"), "path", where=where)
    grade = given.get("grade", 1)
    if type(grade) is not int or not 1 <= grade <= MOST_GRADE:
        raise UsageError(
            f"{where}: `grade` cannot be {grade!r}.",
            action=f"Give a whole number from 1 to {MOST_GRADE}; leave out what is no answer.",
        )
    match given.get("lines"):
        case None:
            return _checked(path, None, None, grade=grade, where=where)
        case [int(first), int(last)]:
            return _checked(path, first, last, grade=grade, where=where)
        case other:
            raise UsageError(
                f"{where}: `lines` cannot be {other!r}.", action="Give first and last: [10, 24]."
            )


def _place_json(place: Expected) -> Mapping[str, object]:
    return {
        "path": place.path,
        **({} if place.first_line is None else {"lines": [place.first_line, place.last_line]}),
        **({} if place.grade == 1 else {"grade": place.grade}),
    }


def _expected(given: object, *, where: str) -> tuple[Expected, ...]:
    places = given if isinstance(given, list) else [given]
    return tuple(dict.fromkeys(place_of(place, where=where) for place in places))


def _checked(
    path: str, first: int | None, last: int | None, *, where: str, grade: int = 1
) -> Expected:
    if first is not None and last is not None and not 1 <= first <= last:
        raise UsageError(
            f"{where}: {path} has no lines {first} to {last}.",
            action="Lines count from 1; give the first, then the last.",
        )
    return Expected(posixpath.normpath(path), first, last, grade)


def _text(value: object, key: str, *, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: `{key}` must be a text.", action=f"Give `{key}` some words.")
    return value.strip()


def _day(entry: Mapping[str, object], key: str, *, where: str) -> date | None:
    value = entry.get(key)
    if value is None:
        return None
    try:
        return date.fromisoformat(str(value))
    except ValueError as error:
        raise UsageError(
            f"{where}: `{key}` cannot be {value!r}.", action="Give a day such as 2026-02-01."
        ) from error


def _check_keys(entry: Mapping[str, object], known: Collection[str], *, where: str) -> None:
    for key in entry:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean `{near[0]}`? " if near else ""
            raise UsageError(
                f"{where}: there is no `{key}` in a case's JSON.",
                action=f"{hint}Known are {', '.join(known)}.",
            )
