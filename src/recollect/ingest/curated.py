"""The two hand-kept files at the workspace root, and the annotations of their entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.types import CURATED

if TYPE_CHECKING:
    from collections.abc import Iterable

_ANNOTATION = re.compile(
    r"<!--\s*(?P<name>trigger|importance|project)\s*:(?P<value>(?:(?!<!--).)*?)-->"
)
_USED = ("importance", "trigger")
_IMPORTANCE = re.compile(r"10|[1-9]")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the author of an entry says about it, as in OpenClaw."""

    importance: int | None = None
    """1 to 10; None: nothing was said."""
    triggers: str = ""
    """Words by which the entry should be found."""


def is_curated(path: str) -> bool:
    """Return whether a stored path names one of the curated files."""
    return path in CURATED


def without_annotations(line: str) -> str:
    """Return the line without its trailing annotations."""
    return line[: _text_end(line)]


def annotation_of(lines: Iterable[str]) -> Annotation:
    """Return what the trailing annotations of some lines say; the highest importance counts."""
    marks = [mark for line in lines for mark in _ANNOTATION.finditer(line, _text_end(line))]
    said = {
        name: [mark["value"].strip() for mark in marks if mark["name"] == name] for name in _USED
    }
    valid = [int(value) for value in said["importance"] if _IMPORTANCE.fullmatch(value)]
    return Annotation(max(valid, default=None), " ".join(said["trigger"]))


def _text_end(line: str) -> int:
    """Return where the trailing annotations of a line begin; its length if it has none."""
    end = len(line.rstrip())
    while line.endswith("-->", 0, end):
        start = line.rfind("<!--", 0, end)
        if start < 0 or not _ANNOTATION.fullmatch(line, start, end):
            break
        end = start
        while end and line[end - 1].isspace():
            end -= 1
    return len(line) if end == len(line.rstrip()) else end
