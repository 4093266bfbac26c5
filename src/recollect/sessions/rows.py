"""Opens transcripts, and reads their lines as JSON objects without trusting the types of fields."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias, cast

from recollect.text.confined import RefusedError, open_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import BinaryIO

Row: TypeAlias = Mapping[str, object]

MAX_BYTES = 512 * 1024 * 1024
"""Ten times a long conversation; a small file can unpack to any size."""
MAX_LINE_BYTES = 32 * 1024 * 1024
"""A message with several large images fits; longer lines are skipped."""
_TOO_LONG = "…"
"""Replaces a skipped line: not valid in any format."""
_BOM = b"\xef\xbb\xbf"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MILLISECONDS = 1e11
"""Smaller numbers are seconds (until the year 5138), larger ones milliseconds (since 1973)."""


def open_transcript(file: Path) -> BinaryIO:
    """Open a file for reading, but not through a link."""
    if file.is_symlink():
        raise RefusedError("is a symbolic link")
    return open_inside(file, file.parent)


def whole_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a file that may be growing; the last may be JSON without line end."""
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        is_whole = raw.endswith(b"\n")
        is_too_long = len(raw) == MAX_LINE_BYTES and not is_whole
        if is_too_long:
            is_whole = _skip_line(stream)
        number += 1
        raw = raw.removeprefix(_BOM) if number == 1 else raw
        # One broken character must not lose the line.
        text = _TOO_LONG if is_too_long else raw.decode("utf-8", "replace")
        if not is_whole and row_of(text) is None:
            return
        yield number, text


def _skip_line(stream: BinaryIO) -> bool:
    """Skip the rest of a line; return whether it ended."""
    parts = iter(lambda: stream.readline(MAX_LINE_BYTES), b"")
    return any(part.endswith(b"\n") for part in parts)


class DamagedError(OSError):
    """Compressed content that cannot be decompressed."""


def unpack(packed: BinaryIO | bytes, *, limit: int = MAX_BYTES) -> bytes:
    """Return decompressed content."""
    import zstandard  # noqa: PLC0415 - few transcripts are compressed

    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    try:
        content = reader.read(limit + 1)
    except zstandard.ZstdError as error:
        raise DamagedError(str(error)) from error
    if len(content) > limit:
        raise DamagedError(f"it unpacks to more than {limit // 1024**2} MiB")
    return content


def pack(content: bytes) -> bytes:
    """Return compressed content."""
    import zstandard  # noqa: PLC0415 - few transcripts are compressed

    return zstandard.ZstdCompressor().compress(content)


def row_of(line: str | bytes) -> Row | None:
    """Return the JSON object on a line; None if there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested to crash readers
        return None
    return cast("Row", found) if isinstance(found, dict) else None


def mapping(row: Row, key: str) -> Row:
    """Return the object in a field; empty if the field has another type."""
    found = row.get(key)
    return cast("Row", found) if isinstance(found, dict) else {}


def string(row: Row, key: str) -> str:
    """Return the trimmed text in a field; empty if the field has another type."""
    found = row.get(key)
    return found.strip() if isinstance(found, str) else ""


def blocks(content: object) -> list[Row]:
    """Return the objects in a list of content blocks; none for anything else."""
    if not isinstance(content, list):
        return []
    return [cast("Row", block) for block in content if isinstance(block, dict)]


def texts_of(content: object, *, kinds: Collection[str] = ("text",)) -> list[str]:
    """Return the texts of a message: the content itself, or its text blocks."""
    if isinstance(content, str):
        return [content]
    found = (block.get("text") for block in blocks(content) if string(block, "type") in kinds)
    return [text for text in found if isinstance(text, str)]


def moment_of(*values: object) -> datetime | None:
    """Return the first valid time stamp in UTC: ISO 8601, or a number of (milli)seconds."""
    return next((found for value in values if (found := _moment(value)) is not None), None)


def _moment(value: object) -> datetime | None:
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            return _if_after_epoch(found.astimezone(UTC))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not math.isfinite(value):
            return None
        scale = 1000 if value < _FIRST_MILLISECONDS else 1
        return _if_after_epoch(_EPOCH + timedelta(milliseconds=math.floor(value * scale)))
    except (ValueError, OverflowError):
        return None


def _if_after_epoch(moment: datetime) -> datetime | None:
    # Some writers store a missing time as zero or less.
    return moment if moment > _EPOCH else None
