"""Finds the JSON objects in a language model's reply, with its usual mistakes.

Numbers stay text as written: 1.10 is as often a version as a number.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_CHARS = 1_000_000
"""Characters read of one reply; no prompt asks for more."""
_MOST_FAILURES = 500
"""Attempts that may fail before the rest of the reply is given up: each takes time."""
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_MEANT = re.compile(r"\{\s*(?:[\"'“]|$)")
"""A brace that starts an object, unlike a `{placeholder}` in prose."""


def _no_constant(_: str) -> None:
    """Read NaN and Infinity as None."""


_DECODER = json.JSONDecoder(
    strict=False, parse_int=str, parse_float=str, parse_constant=_no_constant
)


def objects_in(reply: str) -> Iterator[dict[str, object] | None]:
    """Yield each object, and None for each line that looks like one but cannot be parsed."""
    text = reply[:_MOST_CHARS]
    repaired = _TRAILING_COMMA.sub(" ", text)  # of the same length
    failures = end = 0
    while (first := text.find("{", end)) >= 0 and failures < _MOST_FAILURES:
        brace, is_found = first, False
        line_end = text.find("\n", first)
        end = len(text) if line_end < 0 else line_end
        while 0 <= brace < end and failures < _MOST_FAILURES:
            read = _object_at(text, brace)
            if read is None:
                failures += 1
                read = _object_at(repaired, brace)
            stop = brace + 1
            if read is not None:
                value, stop = read
                is_found = True
                yield value
            end = max(end, stop)
            brace = text.find("{", stop, end)
        if not is_found and _MEANT.match(text, first, end):
            yield None


def _object_at(text: str, brace: int) -> tuple[dict[str, object], int] | None:
    """Return the object at a brace, and where it ends."""
    try:
        return _DECODER.raw_decode(text, brace)
    except (RecursionError, ValueError):
        return None
