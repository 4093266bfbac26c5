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
_OBJECT_CHARS = 16_000
"""Of one object, at least; a list around many is longer, and is read one by one."""
_BUDGET_CHARS = 2 * _MOST_CHARS
"""Read in vain, all together; an answer that needs more is given up."""
_ATTEMPT_CHARS = 100  # what an attempt costs that stops at once
_DEEP_CHARS = 10_000  # what a nesting too deep to be read costs
_MOST_ATTEMPTS = 4
"""In vain on one line, each at another brace."""
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
    reader = _Reader(text)
    place = 0
    while (brace := text.find("{", place)) >= 0 and reader.budget > 0:
        first, line_end = brace, _line_end(text, brace)
        found, attempts = False, 0
        while 0 <= brace < line_end and attempts < _MOST_ATTEMPTS and reader.budget > 0:
            read, length = reader.at(brace, line_end)
            if read is None:
                attempts += 1
            else:
                found = True
                line_end = max(line_end, brace + length)
                yield read
            brace = text.find("{", brace + length, line_end)
        line = text[first : min(line_end, first + _EXCERPT_CHARS)]
        if not found and _MEANT.match(line):
            yield Unreadable(" ".join(line.split()))
        place = line_end
    if brace >= 0:
        yield Unreadable(" ".join(text[brace : brace + _EXCERPT_CHARS].split()))


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


class _Reader:
    """Decodes at any place of a text, and counts what it read in vain.

    Not on the text itself: the library counts the lines up to each error.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._base = 0
        self._part = text[: 2 * _OBJECT_CHARS]
        self.budget = _BUDGET_CHARS

    def at(self, start: int, line_end: int) -> tuple[dict[str, object] | None, int]:
        """Return the object at a brace and its length; None and 1 where there is none."""
        if start - self._base > _OBJECT_CHARS:
            self._base = start
            self._part = self._text[start : start + 2 * _OBJECT_CHARS]
        offset = start - self._base
        try:
            value, stop = _DECODER.raw_decode(self._part, offset)
        except json.JSONDecodeError as error:
            self.budget -= max(error.pos - offset, _ATTEMPT_CHARS)
            around = self._part[max(error.pos - _EXCERPT_CHARS, 0) : error.pos + _EXCERPT_CHARS]
            if not _TRAILING_COMMA.search(around):
                return None, 1
            line = self._text[start : min(line_end, start + _REPAIR_CHARS)]
            return (
                self._repaired(line)
                or self._repaired(self._part[offset : offset + _REPAIR_CHARS])
                or (None, 1)
            )
        except (RecursionError, ValueError):
            self.budget -= _DEEP_CHARS
            return None, 1
        return value, stop - offset

    def _repaired(self, part: str) -> tuple[dict[str, object], int] | None:
        """Decode without trailing commas, a space in the place of each: the length stays."""
        self.budget -= len(part)
        try:
            return _DECODER.raw_decode(_TRAILING_COMMA.sub(" ", part))
        except (RecursionError, ValueError):
            return None
