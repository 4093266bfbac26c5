"""Finding JSON objects in whatever a model wrote, in time that grows with its length.

Prose, code fences, bullets and lists around the objects are passed over; an object may stand on one
line or on several. What is forgiven: trailing commas, raw line breaks in strings, NaN, a key given
twice (the last counts). Numbers stay as they are written: 1.10 is a version as often as a number.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_CHARS = 1_000_000
"""Read of one answer; a model that writes more was not asked to."""
_BUDGET_CHARS = 2 * _MOST_CHARS
"""Read in vain over all lines; after that, an object has to end on the line it begins on."""
_MOST_ATTEMPTS = 4
"""In vain on one line, each at another brace."""
_DEEP_CHARS = 10_000  # what a nesting too deep to be read counts as
_REPAIR_CHARS = 4_000  # of an object whose trailing commas are taken out
_EXCERPT_CHARS = 80
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_MEANT = re.compile(r"\{\s*(?:[\"'“]|$)")
"""A brace that begins an object, unlike the one of a `{placeholder}` in prose."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that was meant as an object and is none."""

    excerpt: str


def _no_constant(_: str) -> None:
    """Read NaN and Infinity as nothing."""


_DECODER = json.JSONDecoder(
    strict=False, parse_int=str, parse_float=str, parse_constant=_no_constant
)


def objects_in(answer: str) -> Iterator[dict[str, object] | Unreadable]:
    """Return each object, and each line that was meant as one and holds none; never raises."""
    text = answer[:_MOST_CHARS]
    budget, place = _BUDGET_CHARS, 0
    while (brace := text.find("{", place)) >= 0:
        first, line_end = brace, _line_end(text, brace)
        found, attempts = False, 0
        while 0 <= brace < line_end and attempts < _MOST_ATTEMPTS:
            read, length, cost = _read(text, brace, line_end if budget <= 0 else len(text))
            budget -= cost
            if read is None:
                attempts += 1
            else:
                found = True
                line_end = max(line_end, brace + length)
                yield read
            brace = text.find("{", brace + length, line_end)
        line = text[first : min(line_end, first + _EXCERPT_CHARS)]
        if not found and _MEANT.match(line):
            yield Unreadable(line.strip())
        place = line_end


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _read(text: str, start: int, end: int) -> tuple[dict[str, object] | None, int, int]:
    """Return the object at a brace, its length, and how many characters were read in vain."""
    part, offset = (text, start) if end == len(text) else (text[start:end], 0)
    try:
        value, stop = _DECODER.raw_decode(part, offset)
    except json.JSONDecodeError as error:
        if not _is_trailing_comma(part, error.pos):
            return None, 1, error.pos - offset + 1
        # A space in the comma's place: the length stays, so the end is known in the text too.
        repaired = _TRAILING_COMMA.sub(" ", part[offset : offset + _REPAIR_CHARS])
        value, length = _repaired(repaired)
        return value, length, error.pos - offset + len(repaired)
    except (RecursionError, ValueError):
        return None, 1, _DEEP_CHARS
    return value, stop - offset, 0


def _repaired(text: str) -> tuple[dict[str, object] | None, int]:
    try:
        return _DECODER.raw_decode(text)
    except (RecursionError, ValueError):
        return None, 1


def _is_trailing_comma(text: str, place: int) -> bool:
    """Tell whether reading stopped between a comma and a closing bracket."""
    around = text[max(place - _EXCERPT_CHARS, 0) : place + _EXCERPT_CHARS]
    return bool(_TRAILING_COMMA.search(around))
