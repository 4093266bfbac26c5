"""Rows of the file as records, and a Scope as a condition on rows.

Few chunks are facts or media files, so those have tables of their own and the statements that walk
all chunks stay simple: facts that a query may not see are listed and excluded.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from recollect.text.phrases import contains
from recollect.types import Chunk, FactMark, Known, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.types import Scope

_HEADING_JOINT = "\x1f"  # cannot occur in a heading: control characters are not text
_NEVER = "9999-12-31"  # the end of a fact that has none; a missing beginning is empty
_STILL = "9999-12-30"  # a moment at which only facts without an end hold

CHUNK_COLUMNS = (
    "c.id, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, c.day, "
    "c.speaker, c.moment, c.importance, c.triggers, "
    "(SELECT content FROM media WHERE chunk = c.id), "
    "(SELECT json_array(id, scope, since, until, superseded_by) FROM facts WHERE chunk = c.id)"
)
"""The columns that `chunk_of` reads, in order; `c` is the chunk and `d` its document."""
KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
"""The query whose rows `known_of` reads."""

_FOREIGN = "SELECT chunk FROM facts WHERE scope NOT IN (SELECT value FROM json_each(?))"
_INVALID = f"{_FOREIGN} OR since > ? OR until <= ?"


_HAS_TERMS = "c.id IN (SELECT rowid FROM terms WHERE terms MATCH ?)"


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
        media,
        fact,
        *_,
    ) = row
    return Chunk(
        path=str(path),
        source=SourceKind(str(source)),
        start_line=int(str(start_line)),
        end_line=int(str(end_line)),
        text=str(text),
        heading=split_heading(str(heading)),
        prefix=str(prefix),
        when=day_of(day),
        speaker=str(speaker),
        moment=str(moment),
        importance=None if importance is None else int(str(importance)),
        triggers=str(triggers),
        media=media.hex() if isinstance(media, bytes) else "",
        fact=_mark_of(str(fact)) if fact else None,
    )


def known_of(row: Sequence[object]) -> Known:
    """Return the stored state of a document from a row of KNOWN."""
    source, path, digest, size_bytes, mtime_ns, recipe, is_settled = row
    return Known(
        path=str(path),
        source=SourceKind(str(source)),
        digest=str(digest),
        stat=Stat(size_bytes, mtime_ns),  # type: ignore[arg-type]  # the columns are integers
        recipe=str(recipe),
        is_settled=bool(is_settled),
    )


def join_heading(heading: Sequence[str]) -> str:
    """Return the stored form of a heading path."""
    return _HEADING_JOINT.join(heading)


def split_heading(stored: str) -> tuple[str, ...]:
    """Return the heading path of its stored form, outermost first."""
    return tuple(stored.split(_HEADING_JOINT)) if stored else ()


def day_of(stored: object) -> date | None:
    """Return the day of its stored form."""
    return date.fromisoformat(str(stored)) if stored else None


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
    for phrase in scope.phrases:
        if phrase.terms:
            conditions.append(_HAS_TERMS)
            bindings.append(match_all(phrase.terms))
        conditions.append("has_phrase(c.text, c.heading, d.path, ?)")
        bindings.append(json.dumps(phrase.words))
    return " AND ".join(conditions), bindings


def match_any(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for rows with at least one of the terms."""
    return " OR ".join(map(_quoted, terms))


def match_all(terms: Iterable[str]) -> str:
    """Return an FTS5 expression for rows with all of the terms."""
    return " AND ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    """Return the term as an FTS5 string, so that no text acts as an operator."""
    return '"' + term.replace('"', '""') + '"'


def has_phrase(*arguments: object) -> bool:
    """Return whether a chunk's text, heading or path contains a phrase: a function for SQL."""
    text, heading, path, phrase = map(str, arguments)
    words = tuple(json.loads(phrase))
    fields = (text, " ".join(split_heading(heading)), path)
    return any(contains(field, words) for field in fields)


def _moment(moment: datetime) -> str:
    """Return a form of the moment whose text order is the order of time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
