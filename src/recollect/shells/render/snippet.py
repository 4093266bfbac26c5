"""Cuts the few lines of a hit that matched, with the terms marked that found it."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from bisect import bisect
from itertools import accumulate
from typing import TYPE_CHECKING

from recollect.text.excerpt import without_headings
from recollect.text.highlight import matched_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.shells.render.shared import Line
    from recollect.types import Hit

    Row = list[Line]
    """Parts of one line, each with its style."""

_ELLIPSIS = "…"
_INDENT = "  "
_MOST_ROWS = 8  # of a sentence: what is longer is no sentence
_MATCH = "bold"
_PROSE = re.compile(r"(?![-*+>|#]|[0-9]+[.)]\s)")
"""The start of a line that may continue a paragraph."""
_FENCES = ("```", "~~~")


def snippet_rows(hit: Hit, *, wanted: frozenset[str], width: int, count: int) -> Iterator[Row]:
    """Yield about `count` rows of a chunk, with the whole sentence, without a repeated heading."""
    room = width - len(_INDENT) - 2 * len(_ELLIPSIS) - 1
    said = " ".join(hit.sentence.split())
    lines = [_wrapped(line, room, said) for line in _lines(hit.text or hit.snippet, hit.heading)]
    rows = [row for line in lines for row in line]
    first, last = _rows_of(hit.sentence, rows)
    count = max(count, min(last - first + 1, _MOST_ROWS))
    start = max(min(first, len(rows) - count), 0)
    ends = [0, *accumulate(map(len, lines))]
    end = min(start + count, len(rows))
    whole = ends[bisect(ends, end) - 1]  # of the lines up to here
    if whole > last and rows[whole:] and rows[whole].startswith("|"):
        end = whole  # a row of a table is shown whole or not
    for at, row in enumerate(rows[start:end], start=start):
        head = f"{_ELLIPSIS} " if at == start and start else ""
        tail = f" {_ELLIPSIS}" if at == end - 1 and end < len(rows) else ""
        yield [(f"{_INDENT}{head}", ""), *_marked(row, wanted), (tail, "")]


def _rows_of(sentence: str, rows: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last row with a part of a sentence."""
    packed = ["".join(row.split()) for row in rows]
    ends = list(accumulate(map(len, packed)))
    wanted = "".join(sentence.split())
    at = "".join(packed).find(wanted)
    if at < 0 or not wanted:
        return 0, 0
    return bisect(ends, at), bisect(ends, at + len(wanted) - 1)


def _lines(text: str, heading: Sequence[str]) -> Iterator[str]:
    """Yield the lines that say something which the heading path does not, each paragraph as one."""
    paragraph, is_code = "", False
    for line in [*map(str.strip, without_headings(text, heading).split("\n")), ""]:
        is_fence = line.startswith(_FENCES)
        is_said = not is_fence and any(map(str.isalnum, line))
        is_code ^= is_fence
        if paragraph and (is_code or not (is_said and _PROSE.match(line))):
            yield paragraph
            paragraph = ""
        if is_said:
            paragraph = f"{paragraph} {line}" if paragraph else line


def _wrapped(line: str, room: int, sentence: str) -> list[str]:
    """Return a line in rows, broken at spaces where there are any, and before the sentence."""
    is_wide = any(unicodedata.east_asian_width(char) in "WF" for char in line)
    before, said, after = " ".join(line.split()).partition(sentence or line)
    return [
        row
        for part in (before, said + after)
        for row in textwrap.wrap(part, room // 2 if is_wide else room, break_on_hyphens=False)
    ]


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
