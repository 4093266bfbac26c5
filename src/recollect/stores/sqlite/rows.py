"""Rows of the file as records, and a Scope as a condition on rows.

Few chunks are facts or media files, so those have tables of their own and the statements that walk
all chunks stay simple: facts that a query may not see are listed and excluded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast, overload

import numpy as np

from recollect.text.phrases import contains
from recollect.text.tags import has_tag
from recollect.types import CURATED, Chunk, FactMark, Known, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from recollect.types import Scope, Vectors

P = ParamSpec("P")
Record = TypeVar("Record")
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
    "c.id, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, c.day, "
    "c.speaker, c.moment, c.importance, c.triggers, c.tail, "
    "(SELECT content FROM media WHERE chunk = c.id), "
    "(SELECT json_array(id, scope, since, until, superseded_by) FROM facts WHERE chunk = c.id)"
)
"""The columns that `chunk_of` reads, in order; `c` is the chunk and `d` its document."""
KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
"""The query whose rows `known_of` reads."""
_SOURCES = {kind.value: kind for kind in SourceKind}

_FOREIGN = "SELECT chunk FROM facts WHERE scope NOT IN (SELECT value FROM json_each(?))"
_INVALID = f"{_FOREIGN} OR since > ? OR until <= ?"
_TAGGED = """
    (has_tag(c.text, c.triggers, ?) OR d.source = 'memory'
     AND d.path NOT IN (SELECT value FROM json_each(?))
     AND d.id IN (SELECT o.document FROM chunks o WHERE has_tag(o.text, o.triggers, ?)))
"""


class RowError(ValueError):
    """A row holds a value that Recollect never writes: the file is damaged."""


class TermsRowError(RowError):
    """A row of the keyword index is damaged: the index is made again from the chunks."""


def check_terms(read: Callable[P, Record], *args: P.args, **kwargs: P.kwargs) -> Record:
    """Read something of the keyword index, such that a wrong value raises TermsRowError."""
    try:
        return read(*args, **kwargs)
    except (ValueError, IndexError) as error:
        raise TermsRowError(str(error)) from error


def decoding(function: Callable[P, Record]) -> Callable[P, Record]:
    """Return the function, which reads rows, such that a wrong value raises RowError."""

    @wraps(function)
    def decode(*args: P.args, **kwargs: P.kwargs) -> Record:
        try:
            return function(*args, **kwargs)
        except (ValueError, TypeError) as error:
            raise RowError(f"a row cannot be read: {error}") from error

    return decode


def vector_id(space: str, text: str) -> str:
    """Return the id of a text's vector in a space, in SQL; NULL if the space is."""
    return f"(({space} << {TEXT_BITS}) + {text})"


def ids_in(space: str) -> str:
    """Return the ids of all vectors in a space, as the bounds of BETWEEN in SQL."""
    return f"({space} << {TEXT_BITS}) AND (({space} + 1) << {TEXT_BITS}) - 1"


def text_in(vector: str) -> str:
    """Return the number of the text whose vector has this id, in SQL."""
    return f"({vector} & {(1 << TEXT_BITS) - 1})"


def text_of(value: object) -> str:
    """Return a text column's value."""
    if not isinstance(value, str):
        raise RowError(f"a text is stored as {type(value).__name__}")
    return value


def whole_of(value: object) -> int:
    """Return an integer column's value."""
    if not isinstance(value, int):
        raise RowError(f"a number is stored as {type(value).__name__}")
    return value


def blob_of(value: object, *, entry_bytes: int = 1) -> bytes:
    """Return a blob column's value, which consists of entries of so many bytes."""
    if not isinstance(value, bytes):
        raise RowError(f"a blob is stored as {type(value).__name__}")
    if len(value) % entry_bytes:
        raise RowError(f"a blob of {len(value)} bytes has no entries of {entry_bytes} bytes")
    return value


def check_tail(value: object) -> None:
    """Check that the end of a row is there: the value of its last column, `tail`."""
    if value != _TAIL:
        raise RowError("the end of a row is missing")


def check_tails(values: Iterable[object]) -> None:
    """Check that the ends of rows are there."""
    for value in set(values):
        check_tail(value)


def real_of(value: object) -> float:
    """Return a number column's value."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise RowError(f"a number is stored as {value!r:.40}")
    return float(value)


@decoding
def numbers_of(stored: object) -> list[int]:
    """Return numbers of their stored form, a JSON list."""
    return [*map(whole_of, json.loads(text_of(stored)))]


def blobs_of(values: Sequence[object], *, entry_bytes: int = 1) -> Sequence[bytes]:
    """Return the values of a blob column, each of entries of so many bytes."""
    blobs = column_of(values, bytes)
    for length in set(map(len, blobs)):
        if length % entry_bytes:
            raise RowError(f"a blob of {length} bytes has no entries of {entry_bytes} bytes")
    return blobs


def stack(values: Sequence[object], tails: Iterable[object] = (), *, dimensions: int) -> Vectors:
    """Return stored vectors as the rows of a matrix."""
    check_tails(tails)
    blobs = column_of(values, bytes)
    if set(map(len, blobs)) - {dimensions * FLOAT_BYTES}:
        raise RowError(f"a vector does not have {dimensions} dimensions")
    return np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(blobs), dimensions)


@decoding
def chunk_of(row: Sequence[object]) -> Chunk:
    """Return the chunk of a row that starts with CHUNK_COLUMNS."""
    (
        _,
        path,
        source,
        start_line,
        end_line,
        text,
        heading,
        prefix,
        day,
        speaker,
        moment,
        importance,
        triggers,
        tail,
        media,
        fact,
        *_,
    ) = row
    check_tail(tail)
    return Chunk(
        path=text_of(path),
        source=source_of(source),
        start_line=whole_of(start_line),
        end_line=whole_of(end_line),
        text=text_of(text),
        heading=split_heading(text_of(heading)),
        prefix=text_of(prefix),
        when=day_of(day),
        speaker=text_of(speaker),
        moment=text_of(moment),
        importance=_importance_of(importance),
        triggers=text_of(triggers),
        media="" if media is None else blob_of(media).hex(),
        fact=None if fact is None else _mark_of(text_of(fact)),
    )


class StoredChunks(Sequence[Chunk]):
    """The chunks of rows that start with CHUNK_COLUMNS, each made when it is asked for.

    Most chunks that a query weighs are never shown, and making one costs more than reading it.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[object]],
        columns: Sequence[Sequence[object]],
        *,
        explained: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Store the rows.

        Args:
            rows: what was read.
            columns: the same by column.
            explained: turns the error of a damaged row into one for the user, whenever it is made.

        """
        self._rows = rows
        self._explained = explained
        self._made: dict[int, Chunk] = {}
        self.paths = column_of(columns[1], str)
        self.sources = _decoded(columns[2], source_of)
        self.start_lines = column_of(columns[3], int)
        self.end_lines = column_of(columns[4], int)
        self.texts = column_of(columns[5], str)
        self.days = _decoded(columns[8], day_of)
        self.importance = _decoded(columns[11], _importance_of)
        check_tails(columns[13])

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Chunk: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Chunk]: ...
    def __getitem__(self, place: int | slice) -> Chunk | Sequence[Chunk]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place not in self._made:
            with self._explained():
                self._made[place] = chunk_of(self._rows[place])
        return self._made[place]


def _decoded(values: Sequence[object], decode: Callable[[object], Value]) -> list[Value]:
    """Return the decoded values of a column in which few values occur, often."""
    made = {value: decode(value) for value in set(values)}
    return [made[value] for value in values]


def columns_of(rows: Sequence[Sequence[object]], *, count: int) -> Sequence[Sequence[object]]:
    """Return the columns of rows that have so many: checks and loops are faster by column."""
    return tuple(zip(*rows, strict=True)) or ((),) * count


def column_of(values: Sequence[object], kind: type[Value]) -> Sequence[Value]:
    """Return the values of a column, all of one type."""
    if wrong := set(map(type, values)) - {kind}:
        raise RowError(f"a {kind.__name__} is stored as {wrong.pop().__name__}")
    return cast("Sequence[Value]", values)


def known_of(row: Sequence[object]) -> Known:
    """Return the stored state of a document from a row of KNOWN."""
    (known,) = all_known([row])
    return known


@decoding
def all_known(rows: Iterable[Sequence[object]]) -> list[Known]:
    """Return the stored states of documents from rows of KNOWN: one loop, there are many."""
    found: list[Known] = []
    for source, path, digest, size_bytes, mtime_ns, recipe, is_settled in rows:
        if not (
            type(path) is type(digest) is type(recipe) is str
            and type(size_bytes) is type(mtime_ns) is int
        ):
            raise RowError("a document is stored with a value of another type")
        kind = _SOURCES.get(cast("str", source)) or source_of(source)
        stat = Stat(size_bytes, mtime_ns)
        found.append(Known(path, kind, digest, stat, recipe, bool(is_settled)))
    return found


def join_heading(heading: Sequence[str]) -> str:
    """Return the stored form of a heading path."""
    return _HEADING_JOINT.join(heading)


def split_heading(stored: str) -> tuple[str, ...]:
    """Return the heading path of its stored form, outermost first."""
    return tuple(stored.split(_HEADING_JOINT)) if stored else ()


@decoding
def source_of(stored: object) -> SourceKind:
    """Return the kind of source of its stored form."""
    text = text_of(stored)
    return _SOURCES.get(text) or SourceKind(text)


@decoding
def day_of(stored: object) -> date | None:
    """Return the day of its stored form."""
    return None if stored is None else date.fromisoformat(text_of(stored))


def _importance_of(stored: object) -> int | None:
    return None if stored is None else whole_of(stored)


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


def scope_sql(scope: Scope) -> tuple[str, list[str]]:
    """Return a condition on chunks `c` and their documents `d`, and its bindings."""
    hidden, bindings = hidden_sql(scope)
    conditions = [f"c.id NOT IN ({hidden})"]
    if scope.source is not None:
        conditions.append("d.source = ?")
        bindings.append(scope.source.value)
    if scope.since is not None:
        conditions.append("c.day >= ?")
        bindings.append(scope.since.isoformat())
    if scope.before is not None:
        conditions.append("c.day < ?")
        bindings.append(scope.before.isoformat())
    if scope.path is not None:
        conditions.append("path_matches(d.path, ?)")
        bindings.append(scope.path)
    for tag in scope.tags:
        conditions.append(_TAGGED)
        bindings += (tag.name, json.dumps(CURATED), tag.name)
    for phrase in scope.phrases:
        conditions.append("has_phrase(c.text, c.heading, d.path, ?)")
        bindings.append(json.dumps(phrase.words))
    return " AND ".join(conditions), bindings


def has_phrase(*arguments: object) -> bool:
    """Return whether a chunk's text, heading or path contains a phrase: a function for SQL."""
    *fields, phrase = map(str, arguments)
    return phrase_in(*fields, words=tuple(json.loads(phrase)))


def is_tagged(*arguments: object) -> bool:
    """Return whether a chunk's text or triggers have a tag: a function for SQL."""
    text, triggers, name = map(str, arguments)
    return has_tag(text, triggers, name)


def phrase_in(text: str, heading: str, path: str, *, words: tuple[str, ...]) -> bool:
    """Return whether a chunk's text, stored heading or path has these words side by side."""
    return any(contains(field, words) for field in phrase_fields(text, heading, path))


def phrase_fields(text: str, heading: str, path: str) -> tuple[str, ...]:
    """Return what a phrase may be in, from a chunk's text, stored heading and path."""
    return text, " ".join(split_heading(heading)), path


def _moment(moment: datetime) -> str:
    """Return a form of the moment whose text order is the order of time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
