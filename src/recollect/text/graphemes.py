"""Splits a line where a chunk ends, never inside a visible character; close enough to UAX #29."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from recollect.text.scripts import HAN_KANA
from recollect.text.size import weigh

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CLUSTER_CHARS = 64
"""No script or emoji needs more; a longer run of marks is noise and may be split."""

_NEAR = 4
"""The last quarter of a piece is searched for a good place to split."""

_FIRST_COMBINING = "\u0300"
_ZERO_WIDTH_JOINER = "\u200d"
_VIRAMA = 9
"""Combining class of the signs that join two consonants into one shape."""
_EXTENDING = re.compile(
    "[\u0e33\u0eb3\u1160-\u11ff\u200c\u200d\ud7b0-\ud7fb\uff9e\uff9f\U0001f3fb-\U0001f3ff"
    "\U000e0020-\U000e007f]"
)
_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))

_UNSPACED = f"[{HAN_KANA}\u3000-\u3003\uff01-\uff60]"
_CLOSING = (
    "[\u3001\u3002\u3009\u300b\u300d\u300f\u3011\u3015\u30fc\uff01\uff09\uff0c\uff1a\uff1b\uff1f]"
)
_SENTENCE_END = re.compile(r"[.!?\u2026]\s|.[\u3002\uff01\uff1f]", re.DOTALL)


def split_line(line: str, *, first: int, limit: int, overlap: int) -> Iterator[str]:
    """Yield pieces of the line that weigh at most `limit`, the first one at most `first`.

    Each piece starts with the last `overlap` of the previous one. A cluster heavier than the
    limit becomes its own piece.
    """
    start = end = 0
    room = first
    while end < len(line):
        stop = _stop(line, start, room)
        if stop <= end:  # the overlap leaves no room for anything new
            start = end
            stop = _stop(line, start, room)
        yield line[start:stop]
        start, end, room = _overlap_start(line, start, stop, overlap), stop, limit


def last_sentences(line: str, room: int) -> str:
    """Return the end of the line that weighs at most `room` and begins a sentence, but not all.

    Empty if no sentence ends within it.
    """
    for found in _SENTENCE_END.finditer(line, max(len(line) - room - 2, 0)):
        ending = line[found.end() :].lstrip()
        if ending and weigh(ending) <= room and is_boundary(line, found.end(), found.start()):
            return ending
    return ""


def boundary_before(text: str, at: int, *, start: int = 0) -> int:
    """Return the last place in (start, at] to split at; `start` is between two clusters."""
    end = max(min(at, len(text)), start + 1)
    for place in range(end, max(start, end - MAX_CLUSTER_CHARS), -1):
        if is_boundary(text, place, start):
            return place
    return _boundary_after(text, end, start=start)


def _boundary_after(text: str, at: int, *, start: int) -> int:
    for place in range(at, min(len(text), start + MAX_CLUSTER_CHARS)):
        if is_boundary(text, place, start):
            return place
    return min(len(text), max(at, start + MAX_CLUSTER_CHARS))


def _stop(line: str, start: int, room: int) -> int:
    reach = start + fitting(line[start : start + room], room)
    if reach == len(line):
        return reach
    fair = 0
    near = reach - (reach - start) // _NEAR
    for place in reversed(list(_word_ends(line, near + 1, reach))):
        if is_boundary(line, place, start):
            if _SENTENCE_END.match(line, place - 2):
                return place
            fair = fair or place
    return fair or boundary_before(line, reach, start=start)


def _overlap_start(line: str, start: int, stop: int, overlap: int) -> int:
    window = line[max(start + 1, stop - overlap) : stop]
    lowest = stop - fitting(window[::-1], overlap)
    for place in _word_ends(line, lowest, stop - 1):
        if is_boundary(line, place, start):
            return place
    for place in range(lowest, stop):
        if is_boundary(line, place, start):
            return place
    return stop


def fitting(text: str, room: int) -> int:
    """Return how many leading characters of a text weigh no more than the room."""
    if text.isascii() and weigh(text) <= room:
        return len(text)
    for count, char in enumerate(text):
        room -= _char_weight(char)
        if room < 0:
            return count
    return len(text)


_char_weight = lru_cache(maxsize=1 << 14)(weigh)


def _word_ends(line: str, first: int, last: int) -> Iterator[int]:
    # One character more than needed: whether a word ends depends on what follows.
    for found in _word_end().finditer(line, first, last + 1):
        if found.start() <= last:
            yield found.start()


@cache  # compiling takes 6 ms, which only long lines need
def _word_end() -> re.Pattern[str]:
    """After a space; in scripts without spaces, anywhere but before closing punctuation."""
    return re.compile(rf"(?<=\s)|(?:(?<={_UNSPACED})|(?={_UNSPACED}))(?!{_CLOSING})")


def is_boundary(text: str, place: int, start: int) -> bool:
    """Return whether no cluster spans this place; `start` is between two clusters."""
    if place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if before < _FIRST_COMBINING and after < _FIRST_COMBINING:
        return True
    if before in _FLAG_HALVES and after in _FLAG_HALVES:
        return _flag_halves_before(text, place, start) % 2 == 0
    is_mark = unicodedata.category(after)[0] == "M" or _EXTENDING.match(after) is not None
    is_joined = before == _ZERO_WIDTH_JOINER or unicodedata.combining(before) == _VIRAMA
    return not (is_mark or is_joined)


def _flag_halves_before(text: str, place: int, start: int) -> int:
    window = text[start:place]
    return len(window) - len(window.rstrip(_FLAG_HALVES))
