"""Documents, their chunks and postings: stored as a whole, many at once, counted in a scope."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from recollect.reports import Documents
from recollect.stores import term_counts
from recollect.stores.base import Loaded, is_expected
from recollect.stores.bm25 import FIELD_WEIGHTS
from recollect.stores.postgres.adapt import original
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import CHUNK_COLUMNS, CHUNK_TABLES, chunk_of, scope_condition
from recollect.stores.postgres.tenant import TenantTables
from recollect.stores.summary import KNOWN, known_of, loaded_of, summarize, summarize_days
from recollect.types import ChunkKey, SourceKind, SupersededFact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from recollect.reports import DaySummary
    from recollect.stores.base import DocumentWrite, Name
    from recollect.stores.postgres.connect import Connection
    from recollect.types import Chunk, Fingerprint, Known, Scope


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
# Of a table with the tenant: else Citus makes the rows on the coordinator and sends them by COPY.
_INSERT_POSTINGS = """
    INSERT INTO postings (tenant, term, chunk, length, frequency)
    SELECT t.tenant, p.* FROM tenants t,
        unnest(%s::int4[], %s::int8[], %s::int4[], %s::int2[]) p WHERE t.tenant = %s
"""
_INSERT_FACT = "INSERT INTO facts VALUES (%s, %s, %s, %s, %s, %s, %s)"
_INSERT_MEDIA = "INSERT INTO media VALUES (%s, %s, %s)"
_OLD_CHUNKS = "SELECT id, length, bag FROM chunks WHERE tenant = %s AND document = %s"
_DELETE_POSTINGS = """
    DELETE FROM postings p USING unnest(%s::int4[], %s::int8[]) AS gone (term, chunk)
    WHERE p.tenant = %s AND p.term = gone.term AND p.chunk = gone.chunk
"""
_COUNT = """
    UPDATE tenants SET chunks = chunks + %s, length = length + %s, changes = changes + %s
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
    SELECT {CHUNK_COLUMNS}, c.bag, c.length, {{vector}} FROM {CHUNK_TABLES} {{join}}
    WHERE c.tenant = %s AND c.id = ANY(%s)
"""  # noqa: S608 - our own column names
_SUPERSEDED = """
    SELECT f.id, c.text, c.prefix, f.superseded_by, coalesce(
        (SELECT n.text FROM facts g JOIN chunks n ON n.tenant = g.tenant AND n.id = g.chunk
         WHERE g.tenant = %s AND g.id = f.superseded_by ORDER BY n.id LIMIT 1), '')
    FROM facts f JOIN chunks c ON c.tenant = f.tenant AND c.id = f.chunk
    WHERE f.tenant = %s AND f.superseded_by != '' AND f.scope = ANY(%s) AND f.until IS NOT NULL
      AND (%s::timestamptz IS NULL OR f.until <= %s) ORDER BY c.id
"""
_NAMED = " AND (source, path) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
_MOST_FREQUENT = 32_767  # a smallint; BM25 saturates long before
_EPOCH_MS = 1_700_000_000_000
_RANDOM_BITS = 12
_COUNT_BITS = 10  # ids that one process makes in a millisecond before it borrows from the next


class KeyMaker:
    """Makes ascending ids of 63 bits: time, then a count, then bits that are the process's own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._own = int.from_bytes(os.urandom(2), "big") % (1 << _RANDOM_BITS)

    def make(self, count: int) -> list[int]:
        """Return ids, each greater than all that this process has made before."""
        with self._lock:
            now = (time.time_ns() // 1_000_000 - _EPOCH_MS) << _COUNT_BITS
            first = max(self._last + 1, now)
            self._last = first + count - 1
        return [(number << _RANDOM_BITS) | self._own for number in range(first, first + count)]


_make_keys = KeyMaker().make
_JOINED = "chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document"
# A file of facts is as large as those of its facts that are seen. Headings have any length, and an
# array of arrays has not: JSON has.
_DOCUMENTS = f"""
    SELECT d.path, d.source, d.day,
        CASE WHEN d.source = 'facts' THEN sum(octet_length(c.text)) ELSE min(d.size_bytes) END,
        json_agg(c.heading ORDER BY c.id)
    FROM {_JOINED} WHERE {{condition}}
    GROUP BY d.tenant, d.id ORDER BY d.day DESC NULLS LAST, d.path COLLATE "C", d.source
    LIMIT %s OFFSET %s
"""  # noqa: S608 - our own column names
_ANY = f"SELECT EXISTS (SELECT 1 FROM {_JOINED} WHERE {{condition}})"  # noqa: S608 - our own names
_COUNT_DOCUMENTS = f"SELECT count(DISTINCT d.id) FROM {_JOINED} WHERE {{condition}}"  # noqa: S608
_DAYS = f"""
    SELECT c.day, d.source, count(DISTINCT d.id), count(*) FROM {_JOINED} WHERE {{condition}}
    GROUP BY c.day, d.source ORDER BY c.day NULLS FIRST, d.source
"""  # noqa: S608 - our own column names
_EMBEDDED = f"SELECT c.id FROM {_JOINED} {{joined}} WHERE {{condition}} ORDER BY c.id"  # noqa: S608 - our own names
_VECTORS = "JOIN {table} v ON v.tenant = c.tenant AND v.digest = c.digest"


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
        with self._session.writing() as connection, connection.pipeline():
            self._lock(connection)
            if jointly and not all(is_expected(write, self.known) for write in writes):
                return [False] * len(writes)
            return [
                self._put(connection, write, terms)
                for write, terms in zip(writes, fields, strict=True)
            ]

    def _put(
        self,
        connection: Connection,
        write: DocumentWrite,
        fields: Sequence[tuple[list[str], ...]],
    ) -> bool:
        document = write.document
        if not is_expected(write, self.known):
            return False
        stats = (document.stat.size_bytes, document.stat.mtime_ns, document.is_settled)
        if write.chunks is None:
            own = (self._tenant, document.source.value, document.path, document.digest)
            run(connection, _TOUCH, (*stats, *own))
            return True
        self._delete(connection, document.path, document.source)
        owner, *keys = _make_keys(len(write.chunks) + 1)
        run(
            connection,
            _INSERT_DOCUMENT,
            (
                self._tenant,
                owner,
                document.source.value,
                document.path,
                document.digest,
                *stats,
                write.recipe,
                document.when,
            ),
        )
        bags = [term_counts.pack(terms) for terms in fields]
        with connection.cursor() as cursor:
            cursor.executemany(
                _INSERT_CHUNK,
                [
                    _chunk_row(self._tenant, key, owner, chunk, length=len(terms[0]), bag=bag)
                    for key, chunk, terms, bag in zip(keys, write.chunks, fields, bags, strict=True)
                ],
            )
        places, terms, frequencies = _postings(bags)
        lengths = [len(each[0]) for each in fields]
        run(
            connection,
            _INSERT_POSTINGS,
            (
                terms,
                [keys[place] for place in places],
                [lengths[place] for place in places],
                frequencies,
                self._tenant,
            ),
        )
        for key, chunk in zip(keys, write.chunks, strict=True):
            if chunk.media:
                media = bytes.fromhex(chunk.media)
                run(connection, _INSERT_MEDIA, (self._tenant, key, media))
            if (fact := chunk.fact) is not None:
                mark = (fact.id, fact.scope, fact.since, fact.until, fact.superseded_by)
                run(connection, _INSERT_FACT, (self._tenant, key, *mark))
        run(connection, _COUNT, (len(keys), sum(lengths), len(keys), self._tenant))
        return True

    def drop_many(self, gone: Sequence[Known]) -> None:
        with self._session.writing() as connection, connection.pipeline():
            self._lock(connection)
            stored = self.known((each.source, each.path) for each in gone)
            for each in gone:
                if each == stored.get((each.source, each.path)):
                    self._delete(connection, each.path, each.source)

    def _delete(self, connection: Connection, path: str, source: SourceKind) -> None:
        row = run(
            connection,
            "SELECT id FROM documents WHERE tenant = %s AND source = %s AND path = %s",
            (self._tenant, source.value, path),
        ).fetchone()
        if row is None:
            return
        old = run(connection, _OLD_CHUNKS, (self._tenant, row[0])).fetchall()
        # The bags name the postings: an index to find them by chunk would double their size.
        places, terms, _ = _postings([bag for *_, bag in old])
        keys = [old[place][0] for place in places]
        run(connection, _DELETE_POSTINGS, (terms, keys, self._tenant))
        query = "DELETE FROM documents WHERE tenant = %s AND id = %s"
        run(connection, query, (self._tenant, row[0]))
        length = sum(each[1] for each in old)
        run(connection, _COUNT, (-len(old), -length, len(old), self._tenant))

    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        values = (self._tenant, source.value, path)
        return [chunk_of(row) for row in self._session.read(_CHUNKS_OF, values)]

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        with self._session.reading() as connection:
            table = self._vector_table(connection, fingerprint)
            join = f"LEFT JOIN {table} v ON v.tenant = c.tenant AND v.digest = c.digest"
            statement = _LOAD.format(
                vector="v.vector" if table else "NULL", join=join if table else ""
            )
            found = {row[0]: row for row in run(connection, statement, (self._tenant, list(keys)))}
        rows = [found[key] for key in keys if key in found]
        return loaded_of(
            [ChunkKey(row[0]) for row in rows],
            [chunk_of(row) for row in rows],
            lengths=[row[-2] for row in rows],
            counts=term_counts.count([row[-3] for row in rows], terms),
            vectors=[row[-1] for row in rows],
        )

    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        owner = (self._tenant, self._tenant)
        values = (*owner, sorted(scope.audience), scope.as_of, scope.as_of)
        return [SupersededFact(*row) for row in self._session.read(_SUPERSEDED, values)]

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


def _chunk_row(  # noqa: PLR0913 - the columns
    tenant: str, key: int, owner: int, chunk: Chunk, *, length: int, bag: bytes
) -> tuple[object, ...]:
    return (
        tenant,
        key,
        owner,
        chunk.start_line,
        chunk.end_line,
        bytes.fromhex(chunk.digest),
        length,
        list(chunk.heading),
        chunk.prefix,
        bag,
        chunk.text,
        chunk.when,
        chunk.speaker,
        chunk.moment,
        chunk.importance,
        chunk.triggers,
    )


def _postings(bags: Sequence[bytes]) -> tuple[list[int], list[int], list[int]]:
    """Return for each term of each bag: the bag's place, the term, its weighted frequency."""
    owners, terms, counts = term_counts.columns(bags)
    frequencies = counts @ np.array(FIELD_WEIGHTS)
    # Two words of a chunk may have the same hash.
    merged: dict[tuple[int, int], int] = {}
    columns = (owners.tolist(), terms.view(np.int32).tolist(), frequencies.tolist())
    for owner, term, frequency in zip(*columns, strict=True):
        merged[owner, term] = min(merged.get((owner, term), 0) + frequency, _MOST_FREQUENT)
    return [owner for owner, _ in merged], [term for _, term in merged], list(merged.values())
