"""Rows of the database as records, and a Scope as a condition on rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.postgres.connect import run
from recollect.stores.postgres.segments import ask_pieces
from recollect.stores.postings import holders
from recollect.stores.term_counts import hash_of
from recollect.text.globs import matches
from recollect.text.phrases import contains_all
from recollect.text.tags import has_tag, tags_whole_document
from recollect.types import Chunk, FactMark, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.stores.postgres.connect import Connection, Row
    from recollect.types import Scope, Tag

CHUNK_COLUMNS = (
    "c.id, d.path, d.source, c.start_line, c.end_line, c.text, c.heading, c.prefix, c.day, "
    "c.speaker, c.moment, c.importance, c.triggers, m.content, "
    "f.id, f.scope, f.since, f.until, f.superseded_by"
)
"""The columns that `chunk_of` reads, in order."""
CHUNK_TABLES = (
    "chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document "
    "LEFT JOIN media m ON m.tenant = c.tenant AND m.chunk = c.id "
    "LEFT JOIN facts f ON f.tenant = c.tenant AND f.chunk = c.id"
)
"""Tables of the columns of a chunk."""
JOINED = "chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document"
"""The tables that a Condition is about."""
_PATHS = "SELECT id, path FROM documents WHERE tenant = %s AND starts_with(path, %s)"
_FIELDS = f"""
    SELECT c.id, c.text, c.heading, d.path, c.triggers, c.document, d.source
    FROM {JOINED} WHERE c.tenant = %s AND c.id = ANY(%s)
"""  # noqa: S608 - our own names


def chunk_of(row: Row, *, kind: type[Chunk] = Chunk) -> Chunk:
    """Return the chunk of a row that starts with CHUNK_COLUMNS."""
    _, path, source, start_line, end_line, text, heading, prefix, day, speaker = row[:10]
    moment, importance, triggers, media, fact, scope, since, until, superseded_by = row[10:19]
    return kind(
        path=path,
        source=SourceKind(source),
        start_line=start_line,
        end_line=end_line,
        text=text,
        heading=tuple(heading),
        prefix=prefix,
        when=day,
        speaker=speaker,
        moment=moment,
        importance=importance,
        triggers=triggers,
        media="" if media is None else media.hex(),
        fact=None if fact is None else FactMark(fact, scope, since, until, superseded_by),
    )


class Condition:
    """A condition on chunks `c` of one tenant and their documents `d`, with its values."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._parts = ["c.tenant = %s"]
        self.values: list[object] = [tenant]

    def add(self, part: str, *values: object) -> None:
        """Require one more thing."""
        self._parts.append(part)
        self.values.extend(values)

    def __str__(self) -> str:
        """Return the condition as SQL."""
        return " AND ".join(self._parts)


def scope_condition(connection: Connection, scope: Scope, *, tenant: str) -> Condition:
    """Return the condition for the chunks in a scope.

    Globs and phrases are compared here, not by the server: they must mean the same in every store.
    """
    condition = Condition(tenant)
    hidden, values = hidden_sql(scope, tenant=tenant)
    condition.add(f"NOT EXISTS (SELECT 1 {hidden} AND f.chunk = c.id)", *values)
    if scope.source is not None:
        condition.add("d.source = %s", scope.source.value)
    if scope.since is not None:
        condition.add("c.day >= %s", scope.since)
    if scope.before is not None:
        condition.add("c.day < %s", scope.before)
    if scope.path is not None:
        condition.add("c.document = ANY(%s)", _documents_at(connection, scope.path, tenant=tenant))
    for tag in scope.tags:
        chunks, documents = _with_tag(connection, tag, tenant=tenant)
        condition.add("(c.id = ANY(%s) OR c.document = ANY(%s))", chunks, documents)
    if scope.phrases:
        condition.add("c.id = ANY(%s)", _with_phrases(connection, scope, tenant=tenant))
    return condition


def hidden_sql(scope: Scope, *, tenant: str) -> tuple[str, list[object]]:
    """Return what selects from the facts that may not be seen, and its values."""
    query = "FROM facts f WHERE f.tenant = %s AND (NOT f.scope = ANY(%s)"
    values: list[object] = [tenant, sorted(scope.audience)]
    if scope.with_superseded:
        return f"{query})", values
    if scope.as_of is None:
        return f"{query} OR f.until IS NOT NULL)", values
    return f"{query} OR f.since > %s OR f.until <= %s)", [*values, scope.as_of, scope.as_of]


def _documents_at(connection: Connection, pattern: str, *, tenant: str) -> list[int]:
    literal = _literal_beginning(pattern)
    rows = run(connection, _PATHS, (tenant, literal))
    return [number for number, path in rows if matches(path, pattern)]


def _literal_beginning(pattern: str) -> str:
    """Return what every path that a glob matches begins with."""
    if "/" not in pattern.rstrip("/") or pattern.startswith(("/", "./")):
        return ""
    wild = next((at for at, char in enumerate(pattern) if char in "*?["), len(pattern))
    return pattern[:wild].rpartition("/")[0]


def _with_phrases(connection: Connection, scope: Scope, *, tenant: str) -> list[int]:
    terms = [term for phrase in scope.phrases for term in phrase.terms]
    rows = _with_terms(connection, terms, tenant=tenant)
    return [
        key
        for key, text, heading, path, *_ in rows
        if contains_all((text, " ".join(heading), path), scope.phrases)
    ]


def _with_tag(connection: Connection, tag: Tag, *, tenant: str) -> tuple[list[int], list[int]]:
    """Return the chunks with a tag, and the documents of which all chunks have it."""
    chunks, documents = [], []
    for row in _with_terms(connection, tag.terms, tenant=tenant):
        key, text, _, path, triggers, document, source = row
        if has_tag(text, triggers, tag.name):
            chunks.append(key)
            if tags_whole_document(source, path):
                documents.append(document)
    return chunks, documents


def _with_terms(connection: Connection, terms: Sequence[str], *, tenant: str) -> Iterable[Row]:
    """Return the fields of the chunks that have all of these terms."""
    pieces = ask_pieces(connection, [*map(hash_of, terms)], tenant=tenant)()
    keys = [key for piece in pieces for key in piece.ids[holders(piece, terms)].tolist()]
    return run(connection, _FIELDS, (tenant, keys))
