"""Rows of the database as records, and a Scope as a condition on rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.stores.postgres.connect import run
from recollect.stores.term_counts import hash_of
from recollect.text.globs import matches
from recollect.text.phrases import contained, contains
from recollect.text.tags import has_tag, tags_whole_document
from recollect.types import Chunk, FactMark, Known, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.stores.postgres.connect import Connection, Row
    from recollect.types import Phrase, Scope, Tag

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
KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
"""The query whose rows `known_of` reads."""

_PATHS = "SELECT id, path FROM documents WHERE tenant = %s AND starts_with(path, %s)"
_FIELDS = """
    SELECT c.id, c.text, c.heading, d.path, c.triggers, c.document, d.source
    FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
    WHERE c.tenant = %s {among}
"""
_KEYS = """
    SELECT c.id FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
    WHERE {condition} {among} ORDER BY c.id
"""
_FIRST_TEXTS = 64  # to look for a phrase in; then twice as many, so that few round trips do
_WITH_TERMS = """
    AND c.id IN (SELECT chunk FROM postings WHERE tenant = %s AND term = ANY(%s)
                 GROUP BY chunk HAVING count(*) = %s)
"""


def chunk_of(row: Row) -> Chunk:
    """Return the chunk of a row that starts with CHUNK_COLUMNS."""
    _, path, source, start_line, end_line, text, heading, prefix, day, speaker = row[:10]
    moment, importance, triggers, media, fact, scope, since, until, superseded_by = row[10:19]
    return Chunk(
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


def known_of(row: Row) -> Known:
    """Return the stored state of a document from a row of KNOWN."""
    source, path, digest, size_bytes, mtime_ns, recipe, is_settled = row
    return Known(
        path=path,
        source=SourceKind(source),
        digest=digest,
        stat=Stat(size_bytes, mtime_ns),
        recipe=recipe,
        is_settled=is_settled,
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
    condition.add(f"NOT EXISTS ({hidden} AND f.chunk = c.id)", *values)
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
    """Return a query for the facts that may not be seen, and its values."""
    query = "SELECT 1 FROM facts f WHERE f.tenant = %s AND (NOT f.scope = ANY(%s)"
    values: list[object] = [tenant, sorted(scope.audience)]
    if scope.with_superseded:
        return f"{query})", values
    if scope.as_of is None:
        return f"{query} OR f.until IS NOT NULL)", values
    return f"{query} OR f.since > %s OR f.until <= %s)", [*values, scope.as_of, scope.as_of]


def term_number(term: str) -> int:
    """Return the number that stands for a term, as PostgreSQL's signed integer."""
    number = hash_of(term)
    return number - (1 << 32) if number >= 1 << 31 else number


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
    terms = {term_number(term) for phrase in scope.phrases for term in phrase.terms}
    found = []
    for key, text, heading, path, *_ in _with_terms(connection, terms, tenant=tenant):
        fields = (text, " ".join(heading), path)
        if all(any(contains(field, phrase.words) for field in fields) for phrase in scope.phrases):
            found.append(key)
    return found


def occurring_phrases(connection: Connection, scope: Scope, *, tenant: str) -> frozenset[Phrase]:
    """Return the scope's phrases that some chunk in the rest of the scope contains."""
    condition = scope_condition(connection, replace(scope, phrases=()), tenant=tenant)
    found: frozenset[Phrase] = frozenset()
    read: set[int] = set()
    for phrase in scope.phrases:
        if phrase in found:
            continue
        terms = {term_number(term) for term in phrase.terms}
        among, values = (_WITH_TERMS, [tenant, sorted(terms), len(terms)]) if terms else ("", [])
        statement = _KEYS.format(condition=condition, among=among)
        rows = run(connection, statement, [*condition.values, *values])
        unread = [key for (key,) in rows if key not in read]
        for key, fields in _fields_in_batches(connection, unread, tenant=tenant):
            read.add(key)
            missing = [each for each in scope.phrases if each not in found]
            found = found.union(contained(fields, missing))
            if phrase in found:
                break
    return found


def _fields_in_batches(
    connection: Connection, keys: list[int], *, tenant: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the ids of chunks and what a phrase may be in."""
    start, size = 0, _FIRST_TEXTS
    statement = _FIELDS.format(among="AND c.id = ANY(%s)")
    while start < len(keys):
        rows = run(connection, statement, [tenant, keys[start : start + size]])
        for key, text, heading, path, *_ in rows:
            yield key, (text, " ".join(heading), path)
        start, size = start + size, 2 * size


def _with_tag(connection: Connection, tag: Tag, *, tenant: str) -> tuple[list[int], list[int]]:
    """Return the chunks with a tag, and the documents of which all chunks have it."""
    terms = {term_number(term) for term in tag.terms}
    chunks, documents = [], []
    for row in _with_terms(connection, terms, tenant=tenant):
        key, text, _, path, triggers, document, source = row
        if has_tag(text, triggers, tag.name):
            chunks.append(key)
            if tags_whole_document(source, path):
                documents.append(document)
    return chunks, documents


def _with_terms(connection: Connection, terms: set[int], *, tenant: str) -> Iterable[Row]:
    """Return the fields of the chunks that have all of these terms."""
    if not terms:
        return run(connection, _FIELDS.format(among=""), [tenant])
    values = [tenant, tenant, sorted(terms), len(terms)]
    return run(connection, _FIELDS.format(among=_WITH_TERMS), values)
