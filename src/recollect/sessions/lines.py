"""The lines of a file that is being written: only those that are whole.

It knows bytes and lines, not what is on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.sessions.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A message with a handful of large images; what is longer is passed over."""

_TOO_LONG = "…"
"""Stands for a line that is passed over: no format knows it."""
_BOM = b"\xef\xbb\xbf"


def whole_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, from 1 on.

    A last line without an end is read when it is a whole JSON object, because the writer of a
    finished file may leave it so; otherwise it is still being written and left for later.
    """
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        is_whole = raw.endswith(b"\n")
        is_too_long = len(raw) == MAX_LINE_BYTES and not is_whole
        if is_too_long:
            is_whole = _skip_line(stream)
        number += 1
        text = _TOO_LONG if is_too_long else _decoded(raw, number)
        if not is_whole and row_of(text) is None:
            return
        yield number, text


def _skip_line(stream: BinaryIO) -> bool:
    """Pass over the rest of a line; tell whether it ended."""
    while raw := stream.readline(MAX_LINE_BYTES):
        if raw.endswith(b"\n"):
            return True
    return False


def _decoded(raw: bytes, number: int) -> str:
    raw = raw.removeprefix(_BOM) if number == 1 else raw
    # A broken character costs itself, not the line.
    return raw.decode("utf-8", "replace")
