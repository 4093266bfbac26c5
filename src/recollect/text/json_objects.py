"""Finds the JSON objects in a language model's reply, in time linear in its length.

Prose, code fences, bullets and lists around the objects are skipped; an object may span several
lines. Trailing commas, raw line breaks in strings, NaN and repeated keys (the last one counts) are
accepted. Numbers stay text as written: 1.10 is as often a version as a number.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_CHARS = 1_000_000
"""Characters read of one reply; no prompt asks for more."""
_OBJECT_CHARS = 16_000
"""Every object up to this length is found; the objects of a longer list are read one by one."""
_BUDGET_CHARS = 2 * _MOST_CHARS
"""Characters that failed attempts may read in total before the reply is given up."""
_ATTEMPT_CHARS = 100  # the least that a failed attempt costs
_DEEP_CHARS = 10_000  # the cost of nesting too deep to parse
_MOST_ATTEMPTS = 4
"""Failed attempts per line, each at another brace."""
_REPAIR_CHARS = 4_000  # the longest object from which trailing commas are removed
_EXCERPT_CHARS = 80
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_MEANT = re.compile(r"\{\s*(?:[\"'“]|$)")
"""A brace that starts an object, unlike a `{placeholder}` in prose."""


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """A line that looks like an object but cannot be parsed."""

    excerpt: str


def _no_constant(_: str) -> None:
    """Read NaN and Infinity as None."""


_DECODER = json.JSONDecoder(
    strict=False, parse_int=str, parse_float=str, parse_constant=_no_constant
)


def objects_in(reply: str) -> Iterator[dict[str, object] | UnreadableObject]:
    """Yield each object, and each line that looks like one but cannot be parsed. Never raises."""
    text = reply[:_MOST_CHARS]
    decoder = _ObjectDecoder(text)
    place = 0
    while (brace := text.find("{", place)) >= 0 and decoder.budget > 0:
        first, line_end = brace, _line_end(text, brace)
        found, attempts = False, 0
        while 0 <= brace < line_end and attempts < _MOST_ATTEMPTS and decoder.budget > 0:
            read, length = decoder.at(brace, line_end)
            if read is None:
                attempts += 1
            else:
                found = True
                line_end = max(line_end, brace + length)
                yield read
            brace = text.find("{", brace + length, line_end)
        line = text[first : min(line_end, first + _EXCERPT_CHARS)]
        if not found and _MEANT.match(line):
            yield UnreadableObject(" ".join(line.split()))
        place = line_end
    if brace >= 0:
        yield UnreadableObject(" ".join(text[brace : brace + _EXCERPT_CHARS].split()))


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


class _ObjectDecoder:
    """Decodes an object at any place of a text, within a budget for failed attempts.

    It decodes short slices: on each error the json module counts the lines before it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._base = 0
        self._part = text[: 2 * _OBJECT_CHARS]
        self.budget = _BUDGET_CHARS

    def at(self, start: int, line_end: int) -> tuple[dict[str, object] | None, int]:
        """Return the object at a brace and its length, or (None, 1)."""
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
        """Decode with each trailing comma replaced by a space, so that the length stays."""
        self.budget -= len(part)
        try:
            return _DECODER.raw_decode(_TRAILING_COMMA.sub(" ", part))
        except (RecursionError, ValueError):
            return None
