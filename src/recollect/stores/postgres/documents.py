"""Documents, their chunks and postings: stored as a whole, many at once, counted in a scope."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import StoreBusyError
from recollect.records import dataclass
from recollect.reports import Documents
from recollect.stores import term_counts
from recollect.stores.base import Loaded, is_expected
from recollect.stores.postgres.adapt import original
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.keyword import FOUND, counts_of
from recollect.stores.postgres.rows import (
    CHUNK_COLUMNS,
    CHUNK_TABLES,
    JOINED,
    chunk_of,
    scope_condition,
)
from recollect.stores.postgres.segments import HELD, update
from recollect.stores.postgres.tenant import TenantTables
from recollect.stores.summary import KNOWN, known_of, loaded_of, summarize, summarize_days
from recollect.types import Chunk, ChunkKey, SourceKind, SupersededFact

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from recollect.reports import DaySummary
    from recollect.stores.base import DocumentWrite, Name
    from recollect.stores.postgres.connect import Connection, Cursor, Row, Session
    from recollect.types import Fingerprint, Known, Scope


_INSERT_DOCUMENT = """
    INSERT INTO documents (tenant, id, source, path, digest, size_bytes, mtime_ns, is_settled,
                           recipe, day)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
# A table with policies accepts no COPY.
_INSERT_CHUNK = """
    INSERT INTO chunks (tenant, id, document, start_line, end_line, digest, length, heading, prefix,
                        bag, text, day, speaker, moment, importance, triggers)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_INSERT_FACT = "INSERT INTO facts VALUES (%s, %s, %s, %s, %s, %s, %s)"
_INSERT_MEDIA = "INSERT INTO media VALUES (%s, %s, %s)"
# As KNOWN has them, with the ids of their chunks.
_STORED = """
    SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled, id,
        ARRAY(SELECT c.id FROM chunks c WHERE c.tenant = %s AND c.document = d.id),
        (SELECT coalesce(sum(c.length), 0) FROM chunks c WHERE c.tenant = %s AND c.document = d.id)
    FROM documents d
    WHERE tenant = %s AND (source, path) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""
_DELETE = "DELETE FROM documents WHERE tenant = %s AND id = %s"
_COUNT = """
    UPDATE tenants SET chunks = %s, length = %s, last = %s, changes = changes + %s
    WHERE tenant = %s
"""
_TOUCH = """
    UPDATE documents SET size_bytes = %s, mtime_ns = %s, is_settled = %s
    WHERE tenant = %s AND source = %s AND path = %s AND digest = %s
"""
_CHUNKS_OF = f"""
    SELECT {CHUNK_COLUMNS} FROM {CHUNK_TABLES}
    WHERE c.tenant = %s AND d.source = %s AND d.path = %s ORDER BY c.id
"""  # noqa: S608 - our own column names
_LOAD = f"""
    SELECT {{columns}}, {{bag}}, c.length, {{vector}} FROM {CHUNK_TABLES} {{join}}
    WHERE c.tenant = %s AND c.id = ANY(%s)
"""  # noqa: S608 - our own column names
# Sent with the candidates, because not every model reads it: a text with more than Latin letters.
_FOREIGN = r"""CASE WHEN octet_length(c.text) > length(c.text)
    AND c.text ~ '[^\u0001-\u024f\u1e00-\u1eff\u2010-\u2027\u2190-\u21ff]'
    THEN c.text ELSE '' END"""
_TEXTS = "SELECT id, text FROM chunks WHERE tenant = %s AND id = ANY(%s)"
_WITH_MEAN = """-(v.vector <#> (
    SELECT avg(w.vector) FROM chunks c JOIN {table} w ON w.tenant = c.tenant AND w.digest = c.digest
    WHERE c.tenant = %s AND c.id = ANY(%s)
))"""
ASKED = "question"
"""What a transaction keeps of its last question: the space and the vectors."""
_SUPERSEDED = """
    SELECT f.id, c.text, c.prefix, f.superseded_by, coalesce(
        (SELECT n.text FROM facts g JOIN chunks n ON n.tenant = g.tenant AND n.id = g.chunk
         WHERE g.tenant = %s AND g.id = f.superseded_by ORDER BY n.id LIMIT 1), '')
    FROM facts f JOIN chunks c ON c.tenant = f.tenant AND c.id = f.chunk
    WHERE f.tenant = %s AND f.superseded_by != '' AND f.scope = ANY(%s) AND f.until IS NOT NULL
      AND (%s::timestamptz IS NULL OR f.until <= %s) ORDER BY c.id
"""
_NAMED = " AND (source, path) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
# A file of facts is as large as those of its facts that are seen. Headings have any length, and an
# array of arrays has not: JSON has.
_DOCUMENTS = f"""
    SELECT d.path, d.source, d.day,
        CASE WHEN d.source = 'facts' THEN sum(octet_length(c.text)) ELSE min(d.size_bytes) END,
        json_agg(c.heading ORDER BY c.id)
    FROM {JOINED} WHERE {{condition}}
    GROUP BY d.tenant, d.id ORDER BY d.day DESC NULLS LAST, d.path COLLATE "C", d.source
    LIMIT %s OFFSET %s
"""  # noqa: S608 - our own column names
_ANY = f"SELECT EXISTS (SELECT 1 FROM {JOINED} WHERE {{condition}})"  # noqa: S608 - our own names
_COUNT_DOCUMENTS = f"SELECT count(DISTINCT d.id) FROM {JOINED} WHERE {{condition}}"  # noqa: S608
_DAYS = f"""
    SELECT c.day, d.source, count(DISTINCT d.id), count(*) FROM {JOINED} WHERE {{condition}}
    GROUP BY c.day, d.source ORDER BY c.day NULLS FIRST, d.source
"""  # noqa: S608 - our own column names
_EMBEDDED = f"SELECT c.id FROM {JOINED} {{joined}} WHERE {{condition}} ORDER BY c.id"  # noqa: S608 - our own names
_VECTORS = "JOIN {table} v ON v.tenant = c.tenant AND v.digest = c.digest"


class LaterChunk(Chunk):
    """A chunk whose text is sent when it is read, or before that if it was asked for."""

    __slots__ = ("later",)
    later: LaterTexts

    def __getattr__(self, name: str) -> str:  # of what is not set
        if name != "text":
            raise AttributeError(name)
        return self.later.text_of(self)


class LaterTexts:
    """The texts of chunks of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._missing: dict[ChunkKey, Chunk] = {}
        self._asked: Cursor | None = None

    def chunk_of(self, row: Row) -> Chunk:
        """Return the chunk of a row, without its text if that was not sent."""
        chunk = chunk_of(row, kind=LaterChunk)
        if not chunk.text:
            object.__delattr__(chunk, "text")
            object.__setattr__(chunk, "later", self)
            self._missing[row[0]] = chunk
        return chunk

    def ask(self, keys: Sequence[ChunkKey]) -> None:
        """Ask for the texts of some chunks, which are sent with what is asked next."""
        with self._session.reading() as connection:
            self._asked = run(connection, _TEXTS, (self._session.tenant, list(keys)))

    def text_of(self, chunk: Chunk) -> str:
        """Return a text that was asked for, or else ask for all that are missing."""
        found = self._asked.fetchall() if self._asked else []
        self._asked = None
        if all(self._missing.get(key) is not chunk for key, _ in found):
            found += self._session.read(_TEXTS, (self._session.tenant, list(self._missing)))
        for key, text in found:
            if key in self._missing:
                object.__setattr__(self._missing.pop(key), "text", text)
        if any(each is chunk for each in self._missing.values()):
            raise StoreBusyError(
                f"A note of {self._session.location} was changed while it was searched.",
                action="Search again.",
            )
        return chunk.text


class PostgresDocuments(TenantTables):
    """Stores documents, chunks and postings."""

    def known(self, names: Iterable[Name] | None = None) -> Mapping[Name, Known]:
        statement, values = f"{KNOWN} WHERE tenant = %s", list[object]((self._tenant,))
        if names is not None:
            asked = list(names)
            statement += _NAMED
            values += [[source.value for source, _ in asked], [path for _, path in asked]]
        rows = self._session.read(statement, values)
        return {(row.source, row.path): row for row in known_of(rows)}

    def put_many(self, writes: Sequence[DocumentWrite], *, jointly: bool = False) -> list[bool]:
        fields = [[*map(term_counts.field_terms, write.chunks or ())] for write in writes]
        with self._session.writing() as connection:
            changes = self._change(connection, [write.name for write in writes])
            if jointly and not all(is_expected(write, changes.known) for write in writes):
                return [False] * len(writes)
            stored = [
                is_expected(write, changes.known) and changes.put(write, terms)
                for write, terms in zip(writes, fields, strict=True)
            ]
            changes.finish()
            return stored

    def drop_many(self, gone: Sequence[Known]) -> None:
        with self._session.writing() as connection:
            changes = self._change(connection, [(each.source, each.path) for each in gone])
            for each in gone:
                name = each.source, each.path
                if each == changes.known([name]).get(name):
                    changes.drop(name)
            changes.finish()

    def _change(self, connection: Connection, names: Sequence[Name]) -> _Changes:
        """Lock the tenant, and read what is stored of some documents."""
        owner = self._tenant
        locked = self._lock(connection)
        asked = [source.value for source, _ in names], [path for _, path in names]
        stored = run(connection, _STORED, (owner, owner, owner, *asked))
        pieces = run(connection, HELD, (owner,))
        totals = locked.fetchone()
        assert totals is not None  # noqa: S101 - added by the lock
        found = {
            (row.source, row.path): _Stored(row, document, chunks, length)
            for *known, document, chunks, length in stored
            for row in known_of([known])
        }
        return _Changes(connection, owner, found, pieces.fetchall(), *totals)

    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        values = (self._tenant, source.value, path)
        return [chunk_of(row) for row in self._session.read(_CHUNKS_OF, values)]

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        with self._session.reading() as connection:
            table = self._vector_table(connection, fingerprint)
            join = f"LEFT JOIN {table} v ON v.tenant = c.tenant AND v.digest = c.digest"
            known, pieces = self._session.kept.get(FOUND, ((), ()))
            is_found = bool(pieces) and known.issuperset(terms)
            space, asked = self._session.kept.get(ASKED, (None, ()))
            is_asked = bool(table and asked and space == fingerprint)
            products = ", ".join([*["-(v.vector <#> %s)"] * len(asked), _WITH_MEAN])
            vector = f"ARRAY[{products}]" if is_asked else "v.vector"
            statement = _LOAD.format(
                columns=CHUNK_COLUMNS.replace("c.text", _FOREIGN) if is_found else CHUNK_COLUMNS,
                bag="NULL" if is_found else "c.bag",
                vector=vector.format(table=table) if table else "NULL",
                join=join if table else "",
            )
            own = (self._tenant, list(keys))
            values = (*asked, *own, *own) if is_asked else own
            found = {row[0]: row for row in run(connection, statement, values)}
        rows = [found[key] for key in keys if key in found]
        later = LaterTexts(self._session)
        chunks = [later.chunk_of(row) if is_found else chunk_of(row) for row in rows]
        held = [ChunkKey(row[0]) for row in rows]
        loaded = loaded_of(
            held,
            chunks,
            lengths=[row[-2] for row in rows],
            counts=counts_of(pieces, held, terms, paths=[chunk.path for chunk in chunks])
            if is_found
            else term_counts.count([row[-3] for row in rows], terms),
            vectors=[None if is_asked else row[-1] for row in rows],
        )
        if is_found:
            loaded = replace(loaded, foreign=[row[5] for row in rows], ask_texts=later.ask)
        if not is_asked:
            return loaded
        made = np.array([row[-1] for row in rows], dtype=np.float64).reshape(-1, len(asked) + 1)
        has_vector = ~np.isnan(made[:, 0])
        return replace(loaded, products=np.nan_to_num(made), has_vector=has_vector)

    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        with self._session.reading() as connection:
            asked = self._session.kept.pop(key_of(scope), None)
            asked = asked or self._ask_superseded(connection, scope)
        return [SupersededFact(*row) for row in asked.fetchall()]

    def _ask_superseded(self, connection: Connection, scope: Scope) -> Cursor:
        values = (self._tenant, self._tenant, sorted(scope.audience), scope.as_of, scope.as_of)
        return run(connection, _SUPERSEDED, values)

    def version(self) -> tuple[int, ...]:
        with self._session.reading() as connection:
            query = "SELECT changes FROM tenants WHERE tenant = %s"
            row = run(connection, query, (self._tenant,)).fetchone()
            return (int(row[0]) if row else 0,)

    def holds(self, scope: Scope | None = None) -> bool:
        if scope is None:
            query = "SELECT 1 FROM documents WHERE tenant = %s LIMIT 1"
            return bool(self._session.read(query, (self._tenant,)))
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            row = run(connection, _ANY.format(condition=condition), condition.values).fetchone()
        return bool(row and row[0])

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            count = _COUNT_DOCUMENTS.format(condition=condition)
            total = run(connection, count, condition.values).fetchone()
            listed = _DOCUMENTS.format(condition=condition)
            rows = run(connection, listed, (*condition.values, limit, offset)).fetchall()
        found = tuple(
            summarize(
                path,
                source=SourceKind(source),
                when=day,
                size_bytes=int(size_bytes),
                headings=[tuple(map(original, heading)) for heading in headings],
            )
            for path, source, day, size_bytes, headings in rows
        )
        return Documents(found, total=int(total[0]) if total else 0)

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        with self._session.reading() as connection:
            condition = scope_condition(connection, scope, tenant=self._tenant)
            statement = _DAYS.format(condition=condition)
            return summarize_days(run(connection, statement, condition.values))

    def embedded(self, fingerprint: Fingerprint | None, *, scope: Scope) -> npt.NDArray[np.int64]:
        with self._session.reading() as connection:
            table = self._vector_table(connection, fingerprint) if fingerprint else None
            if fingerprint is not None and table is None:
                return np.zeros(0, dtype=np.int64)
            condition = scope_condition(connection, scope, tenant=self._tenant)
            joined = _VECTORS.format(table=table) if table else ""
            statement = _EMBEDDED.format(joined=joined, condition=condition)
            rows = run(connection, statement, condition.values)
            return np.fromiter((row[0] for row in rows), dtype=np.int64)


def key_of(scope: Scope) -> Hashable:
    """Return under what a transaction keeps the superseded facts that it has asked for."""
    return "superseded", scope.audience, scope.as_of


@dataclass(frozen=True, slots=True)
class _Stored:
    """A document as it is stored."""

    known: Known
    id: int
    chunks: Sequence[int]
    length: int


@dataclass(slots=True)
class _Changes:
    """Changes of documents in one transaction, which holds the lock of the tenant."""

    connection: Connection
    tenant: str
    stored: dict[Name, _Stored]
    """The documents that are changed, as of now."""
    pieces: Sequence[Row]
    """Rows of HELD."""
    chunks: int
    length: int
    last: int
    """The last number that a document or a chunk has got: none is used twice."""
    gone: list[int] = field(default_factory=list)
    changes: int = 0

    def known(self, names: Iterable[Name]) -> dict[Name, Known]:
        """Return the stored state of those that are stored."""
        return {name: self.stored[name].known for name in names if name in self.stored}

    def drop(self, name: Name) -> None:
        """Delete a document if it is stored."""
        old = self.stored.pop(name, None)
        if old is not None:
            run(self.connection, _DELETE, (self.tenant, old.id))
            self.gone += old.chunks
            self._count(-len(old.chunks), -old.length)

    def _count(self, chunks: int, length: int) -> None:
        self.chunks += chunks
        self.length += length
        self.changes += abs(chunks)

    def put(self, write: DocumentWrite, fields: Sequence[tuple[list[str], ...]]) -> bool:
        """Store a document in the place of its previous version."""
        document, name = write.document, write.name
        stats = (document.stat.size_bytes, document.stat.mtime_ns, document.is_settled)
        if write.chunks is None:
            own = (self.tenant, document.source.value, document.path, document.digest)
            run(self.connection, _TOUCH, (*stats, *own))
            return True
        self.drop(name)
        owner = self.last + 1
        self.last += max(1, len(write.chunks))
        keys = range(owner, owner + len(write.chunks))
        lengths = [len(each[0]) for each in fields]
        source = document.source.value
        about = (source, document.path, document.digest, *stats, write.recipe, document.when)
        run(self.connection, _INSERT_DOCUMENT, (self.tenant, owner, *about))
        rows = [
            (
                *(self.tenant, key, owner, chunk.start_line, chunk.end_line),
                *(bytes.fromhex(chunk.digest), len(terms[0]), list(chunk.heading), chunk.prefix),
                *(term_counts.pack(terms), chunk.text, chunk.when, chunk.speaker, chunk.moment),
                *(chunk.importance, chunk.triggers),
            )
            for key, chunk, terms in zip(keys, write.chunks, fields, strict=True)
        ]
        with self.connection.cursor() as cursor:
            cursor.executemany(_INSERT_CHUNK, rows)
        for key, chunk in zip(keys, write.chunks, strict=True):
            if chunk.media:
                media = bytes.fromhex(chunk.media)
                run(self.connection, _INSERT_MEDIA, (self.tenant, key, media))
            if (fact := chunk.fact) is not None:
                mark = (fact.id, fact.scope, fact.since, fact.until, fact.superseded_by)
                run(self.connection, _INSERT_FACT, (self.tenant, key, *mark))
        self.stored[name] = _Stored(write.known, owner, keys, sum(lengths))
        self._count(len(keys), sum(lengths))
        return True

    def finish(self) -> None:
        """Count the chunks, and bring their postings up to date."""
        totals = (self.chunks, self.length, self.last, self.changes)
        run(self.connection, _COUNT, (*totals, self.tenant))
        update(
            self.connection,
            self.pieces,
            gone=self.gone,
            chunks=self.chunks,
            tenant=self.tenant,
        )
