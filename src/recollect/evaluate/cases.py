"""Cases: questions with the places that answer them, and the JSON Lines file that holds them.

The reader is strict about names and values but accepts a place as a path, "path:10-24", a citation
"path#L10-L24", or an object with lines and grade.
"""

from __future__ import annotations

import difflib
import json
import posixpath
import re
from contextlib import contextmanager
from dataclasses import field
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from recollect.errors import RecollectError, UsageError
from recollect.records import dataclass
from recollect.text.confined import read_named, replace_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from recollect.memory import Memory
    from recollect.types import Hit

DEFAULT_KIND = "question"
CASES_FILE = "memory-cases.jsonl"
"""The workspace's file of cases, unless another one is named."""
MOST_GRADE = 5
"""A higher grade would let one place outweigh all others."""

_MAX_BYTES = 16 * 1024 * 1024
_KEYS = ("query", "expected", "kind", "type", "since", "before", "path", "date", "note")
_PLACE_KEYS = ("path", "lines", "grade")
_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::|\#L)(?P<first>[1-9][0-9]{0,8})(?:-L?(?P<last>[1-9][0-9]{0,8}))?)?",
    re.DOTALL,
)
_PLACE_FORMS = 'Give paths, "path:10-24", or {"path": …, "lines": [10, 24], "grade": 1}.'


@dataclass(frozen=True, slots=True)
class Expected:
    """A place that answers a question: a file, or lines of it."""

    path: str
    first_line: int | None = None
    last_line: int | None = None
    grade: int = 1
    """How good an answer it is; used as the gain in nDCG."""

    @property
    def citation(self) -> str:
        """Return the place in the form of a search citation."""
        lines = "" if self.first_line is None else f"#L{self.first_line}-L{self.last_line}"
        return f"{self.path}{lines}"


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its expected places. Without any, memory does not contain the answer."""

    query: str
    expected: tuple[Expected, ...]
    kind: str = DEFAULT_KIND
    since: date | None = None
    before: date | None = None
    path: str | None = None
    """A glob that limits the search, as in `search --path`."""
    asked_on: date | None = None
    """The day the question is asked; None means today."""
    line: int = field(default=0, compare=False)
    """Line number in the file of cases; 0 if it is not from a file."""

    @property
    def is_answerable(self) -> bool:
        """False for a question that must not be answered confidently."""
        return bool(self.expected)


def count_text(cases: Sequence[Case]) -> str:
    """Return the number of cases in words: 3 cases, 1 of them without an answer."""
    count = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    absent = sum(not case.is_answerable for case in cases)
    if not absent:
        return count
    if absent == len(cases):
        return f"{count} without an answer"
    return f"{count}, {absent} of them without an answer"


def read_cases(file: Path, *, workspace: Path | None = None) -> tuple[Case, ...]:
    """Return all cases of a file, which may not lead out of the workspace it is in.

    Raises:
        UsageError: the file cannot be read, has no cases, or has an invalid line.

    """
    cases = _parse_lines(_read(file, workspace), file=file)
    if not cases:
        raise UsageError(f"{file} has no cases.", action="Add one with `recollect eval add QUERY`.")
    return cases


def append_case(case: Case, *, to: Path, workspace: Path | None = None) -> int | None:
    """Append a case to a file; return the number of cases, or None if the file has it already.

    A file in the workspace may not lead out of it.

    Raises:
        UsageError: the file is not a file of cases, or its folder does not exist.
        RecollectError: it cannot be written; its old content is intact.

    """
    check_folder(to)
    with _writing(to):
        exists = to.exists()
    text = _read(to, workspace) if exists else ""
    known = _parse_lines(text, file=to)
    if any((case.query, set(case.expected)) == (old.query, set(old.expected)) for old in known):
        return None
    line = json.dumps(case_json(case), ensure_ascii=False)
    gap = "\n" if text and not text.endswith("\n") else ""
    with _writing(to):
        replace_named(to, f"{text}{gap}{line}\n".encode(), workspace)
    return len(known) + 1


def check_folder(file: Path) -> None:
    """Refuse a file whose folder does not exist: a typo must not create one.

    Raises:
        UsageError: the folder does not exist.
        RecollectError: the folder cannot be accessed.

    """
    with _writing(file):
        exists = file.parent.is_dir()
    if not exists:
        raise UsageError(
            f"The folder {file.parent} does not exist.",
            action="Create it first, or name a file in another folder with --to.",
        )


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Explain a failure by its reason only: the error may name a temporary file."""
    try:
        yield
    except OSError as error:
        raise RecollectError(
            f"{file} cannot be written ({error.strerror or type(error).__name__}).",
            action="Allow writing there, or name another file with --to.",
        ) from error


def case_from_hits(
    query: str, *, hits: Sequence[Hit], kind: str, places: Sequence[Expected] = ()
) -> Case:
    """Return the case of a question that these hits and places answer."""
    accepted = [Expected(hit.path, hit.start_line, hit.end_line) for hit in hits]
    return Case(query, expected=tuple(dict.fromkeys([*accepted, *places])), kind=kind)


def unfindable(cases: Sequence[Case], *, memory: Memory, file: Path | None = None) -> Iterator[str]:
    """Yield a warning for every expected place that no search of this memory can find.

    The file is not indexed, or the lines are past its end. With a `file`, each warning starts with
    the case's position in it.
    """
    indexed = memory.paths()

    @cache
    def lines_in(path: str) -> int | None:
        try:
            content = read_named(memory.workspace / path, memory.workspace, max_bytes=_MAX_BYTES)
        except OSError:
            return None
        return len(content.removesuffix(b"\n").split(b"\n"))

    for case in cases:
        for place in case.expected:
            where = "" if file is None else f"{file}:{case.line}: "
            if place.path not in indexed:
                yield f"{where}{place.path} is not an indexed file of {memory.workspace}."
            elif place.last_line is not None:
                lines = lines_in(place.path)
                if lines is not None and place.last_line > lines:
                    yield f"{where}{place.citation} ends after the file's last line, {lines}."


def _read(file: Path, workspace: Path | None) -> str:
    try:
        return read_named(file, workspace, max_bytes=_MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(
            f"The file {file} does not exist.",
            action="Name a file of cases, or create one with `recollect eval add QUERY`.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The cases in {file} cannot be read ({error}).",
            action="Name a UTF-8 text file with one JSON object per line.",
        ) from error


def _parse_lines(text: str, *, file: Path) -> tuple[Case, ...]:
    # Not splitlines(): JSON strings may contain other line separators.
    cases = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(
                f"{where}: this is not JSON ({error.msg}, column {error.colno}).",
                action='Write one object per line: {"query": "…", "expected": ["memory/a.md"]}.',
            ) from error
        cases.append(parse_case(entry, where=where, line=number))
    return tuple(cases)


def parse_case(entry: object, *, where: str, line: int = 0) -> Case:
    """Return the case that a JSON value describes.

    Raises:
        UsageError: the value is not a valid case; the message starts with `where`.

    """
    if not isinstance(entry, dict):
        raise UsageError(
            f"{where}: a case must be a JSON object.", action='Write {"query": …, "expected": […]}.'
        )
    _check_keys(entry, _KEYS, where=where)
    if "expected" not in entry:
        raise UsageError(
            f"{where}: the case has no `expected`.",
            action=f"{_PLACE_FORMS} An empty list means that memory does not have the answer.",
        )
    since, before = _day(entry, "since", where=where), _day(entry, "before", where=where)
    if since and before and since >= before:
        raise UsageError(
            f"{where}: no day is on or after {since} and before {before}.",
            action="Give `since` an earlier day than `before`.",
        )
    expected = entry["expected"]
    places = expected if isinstance(expected, list) else [expected]
    return Case(
        query=_text(entry.get("query"), "query", where=where),
        expected=tuple(dict.fromkeys(parse_place(place, where=where) for place in places)),
        kind=_text(entry.get("kind", entry.get("type", DEFAULT_KIND)), "kind", where=where),
        since=since,
        before=before,
        path=_text(entry["path"], "path", where=where) if "path" in entry else None,
        asked_on=_day(entry, "date", where=where),
        line=line,
    )


def case_json(case: Case) -> Mapping[str, object]:
    """Return the JSON form of a case, which `parse_case` reads."""
    days = {"since": case.since, "before": case.before, "date": case.asked_on}
    return {
        "query": case.query,
        "expected": [_place_json(place) for place in case.expected],
        "kind": case.kind,
        **({"path": case.path} if case.path else {}),
        **{name: day.isoformat() for name, day in days.items() if day},
    }


def parse_place(value: object, *, where: str) -> Expected:
    """Return the place that a text or JSON value names.

    Raises:
        UsageError: the value does not name a place; the message starts with `where`.

    """
    if isinstance(value, str):
        parts = _PLACE.fullmatch(_text(value, "expected", where=where))
        assert parts is not None  # noqa: S101 - every non-empty text has a path
        first = int(parts["first"]) if parts["first"] else None
        last = int(parts["last"]) if parts["last"] else first
        return _checked(parts["path"], first, last, where=where)
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {value!r} is not a place.", action=_PLACE_FORMS)
    _check_keys(value, _PLACE_KEYS, where=where)
    path = _text(value.get("path"), "path", where=where)
    grade = value.get("grade", 1)
    if type(grade) is not int or not 1 <= grade <= MOST_GRADE:
        raise UsageError(
            f"{where}: `grade` cannot be {grade!r}.",
            action=f"Give a whole number from 1 to {MOST_GRADE}; leave out what is not an answer.",
        )
    match value.get("lines"):
        case None:
            return _checked(path, None, None, grade=grade, where=where)
        case [int(first), int(last)]:
            return _checked(path, first, last, grade=grade, where=where)
        case other:
            raise UsageError(
                f"{where}: `lines` cannot be {other!r}.",
                action="Give the first and last line: [10, 24].",
            )


def _place_json(place: Expected) -> Mapping[str, object]:
    return {
        "path": place.path,
        **({} if place.first_line is None else {"lines": [place.first_line, place.last_line]}),
        **({} if place.grade == 1 else {"grade": place.grade}),
    }


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
                f"{where}: a case has no field `{key}`.",
                action=f"{hint}The fields are {', '.join(known)}.",
            )
