"""Dividing a long message into lines at spaces, and never inside a visible character.

It knows sizes and characters, not who speaks.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from recollect.text.size import weigh

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_CLUSTER_CHARS = 64
"""No script or emoji needs more; beyond it a run of marks is noise that may be divided."""

_FIRST_COMBINING = "\u0300"
_JOINER = "\u200d"
_VIRAMA = 9
"""Combining class of the signs that fuse two consonants into one shape."""
_EXTENDING = re.compile("[\u200c\u200d\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]")
_HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]")
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def wrapped(text: str, *, width: int) -> Iterator[str]:
    """Yield a flattened text in lines that weigh at most `width`, divided at spaces if it has any.

    A single character heavier than the width is a line of its own.
    """
    start = 0
    while (reach := _reach(text, start, width)) < len(text):
        space = text.rfind(" ", start + 1, reach + 1)
        end = space if space > start else _boundary(text, start, reach)
        yield text[start:end]
        start = end + 1 if text[end] == " " else end
    if start < len(text):
        yield text[start:]


def _reach(text: str, start: int, width: int) -> int:
    """Return the place up to which the text has the given weight, but at least one character."""
    window = text[start : start + width]
    if window.isascii() or weigh(window) <= width:
        return start + len(window)
    room = width
    for at, char in enumerate(window):
        room -= _char_weight(char)
        if room < 0:
            return start + max(at, 1)
    return start + len(window)


_char_weight = lru_cache(maxsize=1 << 14)(weigh)


def _boundary(text: str, start: int, reach: int) -> int:
    for place in range(reach, max(start, reach - _MAX_CLUSTER_CHARS), -1):
        if not _is_joined(text, place, start):
            return place
    return reach


def _is_joined(text: str, place: int, start: int) -> bool:
    """Tell whether one visible character reaches across this place."""
    before, after = text[place - 1], text[place]
    if before < _FIRST_COMBINING and after < _FIRST_COMBINING:
        return False
    if before in _FLAG_HALVES and after in _FLAG_HALVES:
        halves = text[start:place]
        return (len(halves) - len(halves.rstrip(_FLAG_HALVES))) % 2 == 1
    return (
        before == _JOINER
        or unicodedata.combining(before) == _VIRAMA
        or unicodedata.category(after)[0] == "M"
        or _EXTENDING.match(after) is not None
        or (_JAMO.match(after) is not None and _HANGUL.match(before) is not None)
    )
