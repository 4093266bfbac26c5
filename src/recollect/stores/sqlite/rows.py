"""Rows of the file as records.

Few chunks are facts or media files: tables of their own keep the statements that walk all chunks
simple. In a STRICT column a value of another type is a damaged page: reading it raises any error,
which `connect` takes for damage.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from recollect.types import Chunk, FactMark, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.types import Scope, Vectors

Value = TypeVar("Value")

_HEADING_JOINT = "\x1f"  # cannot occur in a heading: control characters are not text
_NEVER = "9999-12-31"  # the end of a fact that has none; a missing beginning is empty
_STILL = "9999-12-30"  # a moment at which only facts without an end hold

_TAIL = 127  # the default of the columns `tail`: see `schema`
FLOAT_BYTES = 4
"""Bytes per dimension of a stored vector."""
TEXT_BITS = 40
"""Bits of a vector's id that are the number of its text; those above are its space."""
CHUNK_COLUMNS = (
    "c.id, c.tail, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, c.day, "
    "c.speaker, c.moment, "
    "(SELECT json_array(id, scope, since, until, superseded_by) FROM facts WHERE chunk = c.id), "
    "(SELECT content FROM media WHERE chunk = c.id), c.importance, c.triggers"
)
"""The columns that `chunk_of` reads, in order; `c` is the chunk and `d` its document."""
_SOURCES = {kind.value: kind for kind in SourceKind}

_FOREIGN = "SELECT chunk FROM facts WHERE scope NOT IN (SELECT value FROM json_each(?))"
_INVALID = f"{_FOREIGN} OR since > ? OR until <= ?"


class RowError(ValueError):
    """A row holds a value that Recollect never writes: the file is damaged."""


def vector_id(space: str, text: str) -> str:
    """Return the id of a text's vector in a space, in SQL; NULL if the space is."""
    return f"(({space} << {TEXT_BITS}) + {text})"


def ids_in(space: str) -> str:
    """Return the ids of all vectors in a space, as the bounds of BETWEEN in SQL."""
    return f"({space} << {TEXT_BITS}) AND (({space} + 1) << {TEXT_BITS}) - 1"


def text_in(vector: str) -> str:
    """Return the number of the text whose vector has this id, in SQL."""
    return f"({vector} & {(1 << TEXT_BITS) - 1})"


def check_tail(value: int) -> None:
    """Check that the end of a row is there: the value of its last column, `tail`."""
    if value != _TAIL:
        raise RowError("the end of a row is missing")


def check_tails(values: Iterable[int]) -> None:
    """Check that the ends of rows are there."""
    for value in set(values):
        check_tail(value)


def blobs_of(blobs: Sequence[bytes], *, entry_bytes: int) -> Sequence[bytes]:
    """Return the values of a blob column, each of entries of so many bytes."""
    for length in set(map(len, blobs)):
        if length % entry_bytes:
            raise RowError(f"a blob of {length} bytes has no entries of {entry_bytes} bytes")
    return blobs


def stack(blobs: Sequence[bytes], tails: Iterable[int] = (), *, dimensions: int) -> Vectors:
    """Return stored vectors as the rows of a matrix."""
    check_tails(tails)
    if set(map(len, blobs)) - {dimensions * FLOAT_BYTES}:
        raise RowError(f"a vector does not have {dimensions} dimensions")
    return np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(blobs), dimensions)


def chunk_of(row: Sequence[Any]) -> Chunk:
    """Return the chunk of a row that starts with CHUNK_COLUMNS."""
    _, tail, path, source, start_line, end_line, text, heading, prefix, day = row[:10]
    speaker, moment, fact, media, importance, triggers = row[10:16]
    check_tail(tail)
    return Chunk(
        path,
        source_of(source),
        start_line,
        end_line,
        text,
        split_heading(heading),
        prefix,
        day_of(day),
        speaker,
        moment,
        None if fact is None else _mark_of(fact),
        "" if media is None else media.hex(),
        importance,
        triggers,
    )


def join_heading(heading: Sequence[str]) -> str:
    """Return the stored form of a heading path."""
    return _HEADING_JOINT.join(heading)


def split_heading(stored: str) -> tuple[str, ...]:
    """Return the heading path of its stored form, outermost first."""
    return tuple(stored.split(_HEADING_JOINT)) if stored else ()


def source_of(stored: str) -> SourceKind:
    """Return the kind of source of its stored form."""
    return _SOURCES[stored]


def day_of(stored: str | None) -> date | None:
    """Return the day of its stored form."""
    return None if stored is None else date.fromisoformat(stored)


def fact_row(fact: FactMark) -> tuple[str, str, str, str, str]:
    """Return the columns of a fact: id, scope, since, until, superseded_by."""
    since = _moment(fact.since) if fact.since else ""
    until = _moment(fact.until) if fact.until else _NEVER
    return fact.id, fact.scope, since, until, fact.superseded_by


def _mark_of(row: str) -> FactMark:
    """Return the mark of a fact from its columns as a JSON list."""
    fact, scope, since, until, superseded_by = json.loads(row)
    return FactMark(
        id=fact,
        scope=scope,
        since=datetime.fromisoformat(since) if since else None,
        until=None if until == _NEVER else datetime.fromisoformat(until),
        superseded_by=superseded_by,
    )


def audience_of(scope: Scope) -> str:
    """Return the scopes of facts that may be seen, as a JSON list to bind."""
    return json.dumps(sorted(scope.audience))


def as_of(scope: Scope) -> str:
    """Return the moment at which facts must hold, in the stored form."""
    return _moment(scope.as_of) if scope.as_of else _STILL


def hidden_sql(scope: Scope) -> tuple[str, list[str]]:
    """Return a query for the chunks of facts that may not be seen, and its bindings."""
    if scope.with_superseded:
        return _FOREIGN, [audience_of(scope)]
    moment = as_of(scope)
    return _INVALID, [audience_of(scope), moment, moment]


def phrase_fields(text: str, heading: str, path: str) -> tuple[str, ...]:
    """Return what a phrase may be in, from a chunk's text, stored heading and path."""
    return text, " ".join(split_heading(heading)), path


def _moment(moment: datetime) -> str:
    """Return a form of the moment whose text order is the order of time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
