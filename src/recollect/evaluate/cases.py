"""Cases: questions with the places that answer them, and the JSON Lines file that holds them.

A place is a path, "path:10-24", a citation "path#L10-L24", or an object with lines and grade.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import field, replace
from datetime import date  # noqa: TC003 - pydantic reads the annotation
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from recollect.errors import UsageError
from recollect.text.confined import read_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from recollect.memory import Memory

DEFAULT_KIND = "question"
MOST_GRADE = 5
"""A higher grade would let one place outweigh all others."""

_MAX_BYTES = 16 * 1024 * 1024
_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::|\#L)(?P<first>[1-9][0-9]{0,8})(?:-L?(?P<last>[1-9][0-9]{0,8}))?)?",
    re.DOTALL,
)
_ONE_LINE = 'Write one object per line: {"query": "…", "expected": ["memory/a.md"]}.'
_FORM = (
    "The fields of a case are query, expected, wrong, kind, since, before, path, date and note. "
    'Expected are paths, "path:10-24", or {"path": …, "lines": [10, 24], "grade": 1}, the grade '
    f"from 1 to {MOST_GRADE}; an empty list means that memory does not have the answer."
)


def _place_of(value: object) -> object:
    """Return a place in words as an object."""
    parts = _PLACE.fullmatch(value.strip()) if isinstance(value, str) else None
    if parts is None:
        return value
    first, last = parts["first"], parts["last"]
    return {"path": parts["path"], **({"lines": (first, last or first)} if first else {})}


def _in_order(lines: tuple[int, int]) -> tuple[int, int]:
    if lines[0] > lines[1]:
        raise ValueError("the first line is after the last")
    return lines


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Expected:
    """A place that answers a question: a file, or lines of it."""

    path: Annotated[_Text, AfterValidator(posixpath.normpath)]
    lines: Annotated[tuple[PositiveInt, PositiveInt], AfterValidator(_in_order)] | None = None
    grade: Annotated[int, Field(ge=1, le=MOST_GRADE, strict=True)] = 1
    """How good an answer it is; used as the gain in nDCG."""

    @property
    def citation(self) -> str:
        """Return the place in the form of a search citation."""
        return f"{self.path}#L{self.lines[0]}-L{self.lines[1]}" if self.lines else self.path


_Places = Annotated[
    tuple[Annotated[Expected, BeforeValidator(_place_of)], ...],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value]),
    AfterValidator(lambda places: tuple(dict.fromkeys(places))),
]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", populate_by_name=True))
class Case:
    """A question with its expected places. Without any, memory does not contain the answer."""

    query: _Text
    expected: _Places
    kind: Annotated[_Text, Field(validation_alias=AliasChoices("kind", "type"))] = DEFAULT_KIND
    since: date | None = None
    before: date | None = None
    path: _Text | None = None
    """A glob that limits the search, as in `search --path`."""
    asked_on: Annotated[date | None, Field(alias="date")] = None
    """The day the question is asked; None means today."""
    wrong: _Places = ()
    """Places that were shown and do not answer it."""
    note: object = field(default=None, compare=False)
    line: int = field(default=0, compare=False)
    """Line number in the file of cases; 0 if it is not from a file."""

    @property
    def is_answerable(self) -> bool:
        """Whether a place that answers it is known."""
        return bool(self.expected)

    @property
    def is_absent(self) -> bool:
        """Whether it must not be answered confidently; of a wrong hit alone nobody knows."""
        return not (self.expected or self.wrong)


_CASE = TypeAdapter(Case)


def count_text(cases: Sequence[Case]) -> str:
    """Return the number of cases in words: 3 cases, 1 of them without an answer."""
    count = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    absent = sum(case.is_absent for case in cases)
    if not absent:
        return count
    if absent == len(cases):
        return f"{count} without an answer"
    return f"{count}, {absent} of them without an answer"


def read_cases(file: Path, *, workspace: Path | None = None) -> tuple[Case, ...]:
    """Return all cases of a file, which may not lead out of the workspace it is in."""
    cases = _parse_lines(_read(file, workspace), file=file)
    if not cases:
        raise UsageError(f"{file} has no cases.", action=_ONE_LINE)
    return cases


def unfindable(cases: Sequence[Case], *, memory: Memory, file: Path) -> Iterator[str]:
    """Yield a warning for every expected place that is not indexed or past the end of its file."""
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
            where = f"{file}:{case.line}"
            if place.path not in indexed and not memory.parts.shows(place.path):
                yield f"{where}: {place.path} is not an indexed file of {memory.workspace}."
            elif place.lines and (lines := lines_in(place.path)) and place.lines[1] > lines:
                yield f"{where}: {place.citation} ends after the file's last line, {lines}."


def _read(file: Path, workspace: Path | None) -> str:
    try:
        return read_named(file, workspace, max_bytes=_MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(
            f"The file {file} does not exist.", action=f"Name a file of cases. {_ONE_LINE}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The cases in {file} cannot be read ({error}).",
            action="Name a UTF-8 text file with one JSON object per line.",
        ) from error


def _parse_lines(text: str, *, file: Path) -> tuple[Case, ...]:
    # Not splitlines(): JSON strings may contain other line separators.
    return tuple(
        replace(parse_case(line, where=f"{file}:{number}"), line=number)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )


def parse_case(text: str, *, where: str) -> Case:
    """Return the case that JSON describes."""
    try:
        case = _CASE.validate_json(text)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(map(str, wrong["loc"]))
        said = f"`{name}`: {wrong['msg']}" if name else wrong["msg"]
        raise UsageError(f"{where}: {said}.", action=_FORM if name else _ONE_LINE) from None
    if case.since and case.before and case.since >= case.before:
        raise UsageError(
            f"{where}: no day is on or after {case.since} and before {case.before}.",
            action="Give `since` an earlier day than `before`.",
        )
    return case


def case_json(case: Case) -> Mapping[str, object]:
    """Return the JSON form of a case, which `parse_case` reads."""
    given = _CASE.dump_python(
        case, mode="json", by_alias=True, exclude_defaults=True, exclude={"line", "note"}
    )
    return {**given, "kind": case.kind}
