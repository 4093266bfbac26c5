"""The records: a Case is a question, and the places that answer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

DEFAULT_KIND = "question"
CASES_FILE = "memory-cases.jsonl"
"""Where a workspace keeps its cases, unless another file is named."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A place that answers a question: a file, or lines of it."""

    path: str
    first_line: int | None = None
    last_line: int | None = None
    grade: int = 1
    """How good an answer: it is the gain of finding it."""

    @property
    def citation(self) -> str:
        """Return the place as search cites it."""
        lines = "" if self.first_line is None else f"#L{self.first_line}-L{self.last_line}"
        return f"{self.path}{lines}"


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its expected places; without any, memory does not hold the answer."""

    query: str
    expected: tuple[Expected, ...]
    kind: str = DEFAULT_KIND
    since: date | None = None
    before: date | None = None
    path: str | None = None
    """Glob that narrows the search, as `search --path` does."""
    asked: date | None = None
    """The day the question is asked on; None is today."""
    line: int = field(default=0, compare=False)
    """Where it stands in its file; 0 for one that does not."""

    @property
    def is_answerable(self) -> bool:
        """False for a question that must not be answered confidently."""
        return bool(self.expected)


def counted(cases: Sequence[Case]) -> str:
    """Return how many cases there are in words: 3 cases, 1 of them without an answer."""
    count = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    absent = sum(not case.is_answerable for case in cases)
    if not absent:
        return count
    if absent == len(cases):
        return f"{count} without an answer"
    return f"{count}, {absent} of them without an answer"
