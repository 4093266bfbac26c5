"""Cuts the few lines of a hit that matched, wrapped at words, for people to read.

The same terms that found a chunk mark its words, so `climbing` is marked for `climb`.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import TYPE_CHECKING

from recollect.text.highlight import matched_spans
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.shells.render.shared import Line

    Row = list[Line]
    """Parts of one line, each with its style."""

_ELLIPSIS = "…"
_INDENT = "  "
_MATCH = "bold"
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_PROSE = re.compile(r"(?![-*+>|#]|[0-9]+[.)]\s)")
"""The start of a line that may continue a paragraph."""
_FENCES = ("```", "~~~")


def snippet_rows(
    text: str, *, heading: Sequence[str], wanted: frozenset[str], width: int, count: int
) -> Iterator[Row]:
    """Yield at most `count` rows of a chunk: those in a row that hold the most wanted terms.

    The heading is shown already: a line that only repeats it is left out.
    """
    room = width - len(_INDENT) - 2 * len(_ELLIPSIS) - 1
    rows = [row for line in _lines(text, heading) for row in _wrapped(line, room)]
    held = [frozenset(terms(row)) & wanted for row in rows]
    last = max(len(rows) - count, 0)
    found = [len(frozenset().union(*held[at : at + count])) for at in range(last + 1)]
    start = max(range(last + 1), key=lambda at: (found[at], -at))
    for at, row in enumerate(rows[start : start + count], start=start):
        head = f"{_ELLIPSIS} " if at == start and start else ""
        tail = f" {_ELLIPSIS}" if at == start + count - 1 and at < len(rows) - 1 else ""
        yield [(f"{_INDENT}{head}", ""), *_marked(row, wanted), (tail, "")]


def _lines(text: str, heading: Sequence[str]) -> Iterator[str]:
    """Yield the lines that say something which the heading path does not, each paragraph as one."""
    lines = [line.strip() for line in text.split("\n")]
    if not any(_is_said(line, heading) for line in lines):
        yield from filter(None, lines)
        return
    paragraph, is_code = "", False
    for line in [*lines, ""]:
        is_said = _is_said(line, heading)
        is_code ^= line.startswith(_FENCES)
        if paragraph and (is_code or not (is_said and _PROSE.match(line))):
            yield paragraph
            paragraph = ""
        if is_said:
            paragraph = f"{paragraph} {line}" if paragraph else line


def _is_said(line: str, heading: Sequence[str]) -> bool:
    """Return whether a line is text, not a rule, the edge of a code block or a shown heading."""
    if line.startswith(_FENCES) or not any(map(str.isalnum, line)):
        return False
    found = _HEADING.fullmatch(line)
    return found is None or found[1].strip() not in heading


def _wrapped(line: str, room: int) -> list[str]:
    """Return a line in rows, broken at spaces where there are any."""
    is_wide = any(unicodedata.east_asian_width(char) in "WF" for char in line)
    return textwrap.wrap(
        " ".join(line.split()), room // 2 if is_wide else room, break_on_hyphens=False
    )


def _marked(row: str, wanted: frozenset[str]) -> Iterator[Line]:
    """Yield a row in parts, those in bold that match."""
    at = 0
    for start, end in matched_spans(row, wanted):
        if start > at:
            yield row[at:start], ""
        yield row[start:end], _MATCH
        at = end
    if at < len(row):
        yield row[at:], ""
