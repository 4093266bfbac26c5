"""Lines of a transcript as JSON objects whose fields are read without trusting their types.

What the fields mean is up to the reader of each format.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Collection

Row: TypeAlias = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MILLISECONDS = 1e11
"""Smaller numbers are seconds (until the year 5138), larger ones milliseconds (since 1973)."""


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
    """Return the first valid time stamp in UTC.

    Text is ISO 8601, in UTC unless it has an offset; numbers are seconds or milliseconds.
    """
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
