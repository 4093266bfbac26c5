"""Copies a transcript without its secrets, row by row, before anything is written.

A row whose secrets are hidden is filled up with spaces, which JSON ignores: rows keep their place,
and the size of a copy still tells whether its original has grown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO

from recollect.sessions.read import MAX_LINE_BYTES
from recollect.text.redact import redact, redact_json

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK_BYTES = 1 << 20


def masked(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the rows of a transcript without their secrets.

    Of a row that is too long for every reader only the length is kept.
    """
    while row := stream.readline(MAX_LINE_BYTES):
        if len(row) == MAX_LINE_BYTES and not row.endswith(b"\n"):
            yield from _blank(row, stream)
        else:
            yield masked_row(row)


def masked_row(row: bytes) -> bytes:
    """Return a row without its secrets, of the same length."""
    text = row.decode("utf-8", "surrogateescape")
    ending = text[len(text.rstrip("\r\n")) :]
    try:
        given = json.loads(text)
        hidden = redact_json(given)
        if hidden == given:
            return row
        text = json.dumps(hidden, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):  # not JSON, or only the start of a row
        text = redact(text.removesuffix(ending))
        if text + ending == row.decode("utf-8", "surrogateescape"):
            return row
    # A lone surrogate is escaped as JSON does; bytes that were not UTF-8 stay as they were.
    content = "".join(map(_escaped, text)).encode("utf-8", "surrogateescape")
    return content + b" " * (len(row) - len(content) - len(ending)) + ending.encode()


def _escaped(char: str) -> str:
    is_byte = "\udc80" <= char <= "\udcff"
    return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" and not is_byte else char


def _blank(row: bytes, stream: BinaryIO) -> Iterator[bytes]:
    while row:
        is_end = row.endswith(b"\n")
        yield b" " * (len(row) - is_end) + b"\n" * is_end
        if is_end:
            return
        row = stream.readline(_BLANK_BYTES)
