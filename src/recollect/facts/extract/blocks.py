"""Cutting a file into overlapping blocks of characters that know their lines."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from recollect.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Block:
    """A run of a file's characters."""

    path: str
    number: int
    """From 1, of `count`."""
    count: int
    start_line: int
    end_line: int
    text: str

    @property
    def header(self) -> str:
        """Return the line that stands above the block when it is sent."""
        part = f" (chunk {self.number}/{self.count})" if self.count > 1 else ""
        return f"--- FILE: {self.path}{part} ---"

    @property
    def shown(self) -> str:
        """Return the block as it is sent."""
        return f"{self.header}\n\n{self.text}"


def blocks_of(path: str, text: str, *, block_chars: int, overlap_chars: int) -> list[Block]:
    """Return the blocks of a file, none for a blank one.

    Raises:
        UsageError: blocks of this size and overlap would hardly advance.

    """
    if block_chars < 1 or not 0 <= overlap_chars * 2 <= block_chars:
        raise UsageError(
            f"Blocks of {block_chars} characters cannot overlap by {overlap_chars}.",
            action="Choose an overlap of at most half the block.",
        )
    line_starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    spans = [
        (start, end)
        for start, end in _spans(text, block_chars=block_chars, overlap_chars=overlap_chars)
        if text[start:end].strip()
    ]
    return [
        Block(
            path,
            number,
            len(spans),
            bisect_right(line_starts, start),
            bisect_right(line_starts, end - 1),
            text[start:end],
        )
        for number, (start, end) in enumerate(spans, start=1)
    ]


def _spans(text: str, *, block_chars: int, overlap_chars: int) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > block_chars:
        # Never before the middle: the next block begins behind the start of this one.
        middle, limit = start + block_chars // 2 + 1, start + block_chars
        end = _after_last(text, middle, limit)
        yield start, end
        # The newline the block ends with would leave nothing to overlap.
        start = _after_first(text, end - overlap_chars, end - 1)
    if start < len(text):
        yield start, len(text)


def _after_last(text: str, start: int, end: int) -> int:
    """Return the place behind the last line's end in a stretch, else behind its last space."""
    for separator in ("\n", " "):
        found = text.rfind(separator, start, end)
        if found >= 0:
            return found + 1
    return end


def _after_first(text: str, start: int, end: int) -> int:
    """Return the place behind the first line's end in a stretch, else behind its first space."""
    for separator in ("\n", " "):
        found = text.find(separator, start, max(start, end))
        if found >= 0:
            return found + 1
    return start
