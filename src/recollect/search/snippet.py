"""The part of a chunk worth showing: the lines around the query's words, whole if it is short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_CHARS = 700
_ELLIPSIS = "…"


def snippet(text: str, *, words: Collection[str]) -> str:
    """Return at most MAX_CHARS of the text, the stretch of lines with most of the words."""
    if len(text) <= MAX_CHARS:
        return text
    lines = text.split("\n")
    if len(lines) == 1:
        return _cut_line(text, words=words)
    wanted = set(words)
    held = [frozenset(terms(line)) & wanted for line in lines]
    best_start, best_end, best_value = 0, 0, -1
    for start in range(len(lines)):
        end = _fits(lines, start)
        value = len(frozenset().union(*held[start:end]))
        if value > best_value:
            best_start, best_end, best_value = start, end, value
    shown = "\n".join(lines[best_start:best_end])
    if len(shown) > MAX_CHARS:
        return _cut_line(shown, words=words)
    return shown


def _fits(lines: list[str], start: int) -> int:
    """Return the end of the longest stretch from a line on that may be shown, at least one line."""
    size = 0
    for end in range(start, len(lines)):
        size += len(lines[end]) + 1
        if size > MAX_CHARS + 1:
            return max(end, start + 1)
    return len(lines)


def _cut_line(line: str, *, words: Collection[str]) -> str:
    """Return a window of one long line that begins a little before the first of the words."""
    folded = line.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    room = MAX_CHARS - 2 * len(_ELLIPSIS)
    start = max(0, min(min(places, default=0) - room // 4, len(line) - room))
    if start:
        space = line.find(" ", start, start + 40)
        start = space + 1 if space >= 0 else start
    end = min(len(line), start + room)
    if end < len(line):
        space = line.rfind(" ", end - 40, end)
        end = space if space > start else end
    head = _ELLIPSIS if start else ""
    tail = _ELLIPSIS if end < len(line) else ""
    return f"{head}{line[start:end]}{tail}"
