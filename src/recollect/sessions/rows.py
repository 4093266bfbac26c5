"""One line of a transcript as a typed row: nothing in it is taken on trust.

It knows JSON and clocks. What the fields mean is known to the reader of each format.
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
"""Numbers below count seconds (until the year 5138), the others milliseconds (from 1973 on)."""

_NOTHING: Row = {}


def row_of(line: str | bytes) -> Row | None:
    """Return the JSON object on a line; None when there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested to make readers fail
        return None
    return cast(Row, found) if isinstance(found, dict) else None


def mapping(row: Row, key: str) -> Row:
    """Return the object in a field; empty when it holds something else."""
    found = row.get(key)
    return cast(Row, found) if isinstance(found, dict) else _NOTHING


def string(row: Row, key: str) -> str:
    """Return the text in a field, trimmed; empty when it holds something else."""
    found = row.get(key)
    return found.strip() if isinstance(found, str) else ""


def blocks(content: object) -> list[Row]:
    """Return the objects of a list of content blocks; none for anything else."""
    if not isinstance(content, list):
        return []
    return [cast(Row, block) for block in content if isinstance(block, dict)]


def said(content: object, *, kinds: Collection[str] = ("text",)) -> list[str]:
    """Return the texts of a message: the content itself, or those of its text blocks."""
    if isinstance(content, str):
        return [content]
    found = (block.get("text") for block in blocks(content) if string(block, "type") in kinds)
    return [text for text in found if isinstance(text, str)]


def moment_of(*values: object) -> datetime | None:
    """Return the first of several time stamps that is one, in UTC.

    Text is ISO 8601, in UTC unless it says otherwise; numbers count seconds or milliseconds.
    """
    return next((found for value in values if (found := _moment(value)) is not None), None)


def _moment(value: object) -> datetime | None:
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            return _if_past_epoch(found.astimezone(UTC))
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            return None
        scale = 1000 if value < _FIRST_MILLISECONDS else 1
        return _if_past_epoch(_EPOCH + timedelta(milliseconds=math.floor(value * scale)))
    except (ValueError, OverflowError):
        return None


def _if_past_epoch(moment: datetime) -> datetime | None:
    # Zero and less is how a missing time is written.
    return moment if moment > _EPOCH else None
