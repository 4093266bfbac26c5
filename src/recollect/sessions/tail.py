"""Reading a file that grows: only the lines that are new, and only those that are whole.

A mark says how far a file was read and what stood there. A file that was cut, replaced or rewritten
no longer fits its mark and has to be read anew. It knows bytes and lines, not what is on them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from recollect.sessions.rows import row_of
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A message with a handful of large images; what is longer is passed over."""

_WINDOW_BYTES = 4096
"""Read at either end of what a mark covers: rewriting moves the one or the other."""

_TOO_LONG = "…"
"""Stands for a line that is passed over: no format knows it."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a file was read."""

    offset: int = 0
    """Bytes read."""
    lines: int = 0
    """Lines read."""
    digest: str = ""
    """Of the first and the last bytes read."""


class TailLine(NamedTuple):
    """A whole line."""

    number: int
    text: str
    end: int
    """Offset of what follows it."""


def fits(stream: BinaryIO, mark: Mark) -> bool:
    """Tell whether a file still begins with what the mark has seen."""
    if stream.seek(0, os.SEEK_END) < mark.offset or mark.digest != _digest(stream, mark.offset):
        return False
    if not mark.offset or _read(stream, mark.offset - 1, 1) == b"\n":
        return True
    # The last line had no end yet. Should it have got more than that, it was another line.
    return _read(stream, mark.offset, 2)[:1] in (b"", b"\n", b"\r")


def lines_after(stream: BinaryIO, mark: Mark) -> Iterator[TailLine]:
    """Yield the lines after a mark that fits.

    A last line without an end is read when it is a whole JSON object, because the writer of a
    finished file may leave it so; otherwise it is still being written and left for later.
    """
    end = mark.offset
    number = mark.lines
    if end and _read(stream, end - 1, 1) != b"\n":
        end += len(stream.readline(len(b"\r\n")))
    stream.seek(end)
    while raw := stream.readline(MAX_LINE_BYTES):
        is_whole = raw.endswith(b"\n")
        end += len(raw)
        if len(raw) == MAX_LINE_BYTES and not is_whole:
            raw, skipped, is_whole = b"", *_skip_line(stream)
            end += skipped
        number += 1
        text = _decoded(raw, number) if raw else _TOO_LONG
        if not is_whole and row_of(text) is None:
            return
        yield TailLine(number, text, end)


def mark_at(stream: BinaryIO, *, offset: int, lines: int) -> Mark:
    """Return the mark of a file read so far."""
    return Mark(offset, lines, _digest(stream, offset))


def _skip_line(stream: BinaryIO) -> tuple[int, bool]:
    skipped = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            return skipped, True
    return skipped, False


def _decoded(raw: bytes, number: int) -> str:
    raw = raw.removeprefix(_BOM) if number == 1 else raw
    # A broken character costs itself, not the line.
    return raw.decode("utf-8", "replace")


def _digest(stream: BinaryIO, offset: int) -> str:
    if not offset:
        return ""
    head = _read(stream, 0, min(offset, _WINDOW_BYTES))
    start = max(0, offset - _WINDOW_BYTES)
    return digest_of(head + _read(stream, start, offset - start))


def _read(stream: BinaryIO, start: int, count: int) -> bytes:
    stream.seek(start)
    return stream.read(count)
