"""Vectors: a table for each space; a question is compared with all of its tenant, or by index."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from psycopg import sql

from recollect.records import dataclass
from recollect.stores.base import Missing, Space, VectorPool
from recollect.stores.postgres.adapt import VectorParameter
from recollect.stores.postgres.connect import count_changed, run
from recollect.stores.postgres.near import EFFORT, index_of
from recollect.stores.postgres.schema import SCHEMA, space_key
from recollect.stores.postgres.tenant import TenantTables, table_of
from recollect.stores.summary import SPACES, missing_of, spaces_of
from recollect.stores.vectors import check_vectors
from recollect.types import Background, ChunkKey, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from recollect.stores.base import SpaceTexts
    from recollect.stores.postgres.connect import Connection, Cursor, Row
    from recollect.stores.postgres.rows import Condition
    from recollect.types import Vectors

_LOOK_AGAIN_SECONDS = 60.0  # whether there is an index

_SPACE = """
    SELECT dimensions, mean, deviation, is_published FROM spaces
    WHERE tenant = %s AND fingerprint = %s
"""
_PUT_BACKGROUND = """
    UPDATE spaces SET mean = %s, deviation = %s WHERE tenant = %s AND fingerprint = %s
"""
_PUBLISH = "UPDATE spaces SET is_published = (fingerprint = %s) WHERE tenant = %s"
OWN_SPACES = f"{SPACES} WHERE tenant = %s"
_ADD_SPACE = """
    INSERT INTO spaces (tenant, fingerprint, dimensions) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""
_MISSING = """
    SELECT min(c.id), c.digest FROM chunks c
    WHERE c.tenant = %s AND {media} EXISTS (
        SELECT 1 FROM media m WHERE m.tenant = c.tenant AND m.chunk = c.id
    ) {unless} GROUP BY c.digest HAVING min(c.id) > %s ORDER BY 1 LIMIT %s
"""
_UNLESS = """
    AND NOT EXISTS (SELECT 1 FROM {table} v WHERE v.tenant = c.tenant AND v.digest = c.digest)
"""
_TEXTS = """
    SELECT c.id, c.digest, c.prefix, c.text, d.path, d.size_bytes
    FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
    WHERE c.tenant = %s AND c.id = ANY(%s) ORDER BY c.id
"""
_THERE = "SELECT 1 FROM {table} WHERE tenant = %s AND digest = ANY(%s)"
_PUT = "INSERT INTO {table} VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_PUT_WORDS = "INSERT INTO word_codes VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
_WORDS = """
    SELECT c.id, w.codes FROM chunks c
    JOIN word_codes w ON w.tenant = c.tenant AND w.digest = c.digest
    WHERE c.tenant = %s AND w.fingerprint = %s AND c.id = ANY(%s)
"""
_UNUSED_WORDS = """
    DELETE FROM word_codes w WHERE w.tenant = %s AND (NOT w.fingerprint = ANY(%s) OR NOT EXISTS (
        SELECT 1 FROM chunks c WHERE c.tenant = %s AND c.digest = w.digest
    ))
"""
_CHANGED = "UPDATE tenants SET changes = changes + %s WHERE tenant = %s"
_DELETE = "DELETE FROM {table} v WHERE v.tenant = %s"
_UNUSED = """
    AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.tenant = v.tenant AND c.digest = v.digest)
"""
# Vectors have unit length, so the inner product is the cosine; `<#>` is its negative.
_NEAREST = """
    SELECT c.id, -(v.vector <#> %s) FROM {table} v
    JOIN chunks c ON c.tenant = v.tenant AND c.digest = v.digest
    JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
    WHERE v.tenant = %s AND {condition}
    ORDER BY v.vector <#> %s, c.id LIMIT %s
"""
# Without a filter the vectors come first, and only the nearest are joined. An index orders by half
# precision, so what it proposes is ordered again.
_NEAREST_FIRST = """
    WITH near AS MATERIALIZED (
        SELECT v.digest, v.vector FROM {table} v WHERE v.tenant = {tenant}
        ORDER BY {distance} LIMIT %s
    )
    SELECT c.id, -(n.vector <#> %s), (SELECT count(*) FROM near) FROM near n
    JOIN chunks c ON c.digest = n.digest
    JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
    WHERE {condition}
    ORDER BY n.vector <#> %s, c.id LIMIT %s
"""
_DISTANCE = "v.vector <#> %s"
_INDEXED_DISTANCE = "v.vector::halfvec({width}) <#> %s::vector::halfvec({width})"
_IS_INDEXED = """
    SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid
"""


@dataclass(frozen=True, slots=True)
class NearQuestion:
    """A question to the vectors of a space."""

    fingerprint: Fingerprint
    vector: VectorParameter
    condition: Condition
    is_open: bool
    """Whether everything but others' facts may be seen."""


class PostgresVectors(TenantTables):
    """Stores vectors, and knows which space searches use."""

    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        with self._session.reading() as connection:
            media = texts.media
            table = self._vector_table(connection, texts.fingerprint)
            unless = _UNLESS.format(table=table) if table else ""
            statement = _MISSING.format(media="" if media else "NOT", unless=unless)
            found = run(connection, statement, (self._tenant, after, limit))
            keys = [key for key, _ in found.fetchall()]
            rows = run(connection, _TEXTS, (self._tenant, keys))
            return missing_of(rows, media=media)

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        words: Sequence[bytes] | None = None,
    ) -> None:
        table = table_of(fingerprint)
        if len(digests) and table not in self._session.shared.tables:
            width = fingerprint.dimensions or int(vectors.shape[-1])
            check_vectors(vectors, count=len(digests), dimensions=width)
            self._add_table(fingerprint, width)
        with self._session.writing() as connection:
            self._lock(connection)
            keys = [bytes.fromhex(digest) for digest in digests]
            there = (
                run(connection, _THERE.format(table=table), (self._tenant, keys)) if keys else None
            )
            dimensions = self._add_space(connection, fingerprint)
            width = dimensions or int(vectors.shape[-1])
            check_vectors(vectors, count=len(digests), dimensions=width, words=words)
            if there is None:
                return
            if not dimensions:
                query = "UPDATE spaces SET dimensions = %s WHERE tenant = %s AND fingerprint = %s"
                run(connection, query, (width, self._tenant, str(fingerprint)))
            own = (self._tenant, str(fingerprint))
            rows = [
                (self._tenant, key, VectorParameter(vector))
                for key, vector in zip(keys, vectors, strict=True)
            ]
            coded = zip(keys, words or (), strict=bool(words))
            with connection.cursor() as cursor:
                cursor.executemany(_PUT.format(table=table).encode(), rows)
                cursor.executemany(
                    _PUT_WORDS.encode(), [(*own, key, codes) for key, codes in coded if codes]
                )
            if added := len(set(keys)) - len(there.fetchall()):
                run(connection, _CHANGED, (added, self._tenant))

    def _add_table(self, fingerprint: Fingerprint, dimensions: int) -> None:
        """Add the table for the vectors of a space, unless there is one.

        That is a transaction of its own: it takes a lock that all tenants share, and Citus lets
        only one role change tables in a transaction.
        """
        with self._session.writing() as connection:
            if self._vector_table(connection, fingerprint) is None:
                run(connection, "SELECT add_space(%s, %s)", (space_key(fingerprint), dimensions))

    def _add_space(self, connection: Connection, fingerprint: Fingerprint) -> int:
        """Return the dimensions of a space, adding it if needed; 0 is unknown."""
        own = (self._tenant, str(fingerprint))
        run(connection, _ADD_SPACE, (*own, fingerprint.dimensions or 0))
        row = run(connection, _SPACE, own).fetchone()
        assert row is not None  # noqa: S101 - inserted above
        return int(row[0])

    def spaces(self) -> Mapping[Fingerprint, Space]:
        return spaces_of(self._session.read(OWN_SPACES, (self._tenant,)))

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        own = (self._tenant, str(fingerprint))
        with self._session.writing() as connection:
            self._add_space(connection, fingerprint)
            run(connection, _PUT_BACKGROUND, (background.mean, background.deviation, *own))

    def publish(self, fingerprint: Fingerprint) -> None:
        with self._session.writing() as connection:
            self._add_space(connection, fingerprint)
            run(connection, _PUBLISH, (str(fingerprint), self._tenant))

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        kept = {str(fingerprint) for fingerprint in keep}
        removed = 0
        with self._session.writing() as connection:
            self._lock(connection)
            for name, *_ in run(connection, OWN_SPACES, (self._tenant,)).fetchall():
                is_kept = name in kept
                table = self._vector_table(connection, Fingerprint.parse(name))
                if table:
                    statement = _DELETE.format(table=table) + (_UNUSED if is_kept else "")
                    removed += count_changed(connection, statement, (self._tenant,))
                if not is_kept:
                    query_gone = "DELETE FROM spaces WHERE tenant = %s AND fingerprint = %s"
                    run(connection, query_gone, (self._tenant, name))
            run(connection, _UNUSED_WORDS, (self._tenant, sorted(kept), self._tenant))
        return removed

    def _near(
        self, connection: Connection, ask: NearQuestion, *, limit: int
    ) -> Callable[[], VectorPool]:
        """Ask for the nearest chunks; return what reads the answer."""
        if self._vector_table(connection, ask.fingerprint) is None:
            return lambda: VectorPool((), ())
        first = self._nearest_first(connection, ask, limit=limit) if ask.is_open else None
        rest = None if first else self._nearest_of_all(connection, ask, limit=limit)

        def read() -> VectorPool:
            rows: list[Row] = (first or rest).fetchall()  # type: ignore[union-attr]  # one is set
            # Vectors of texts that are gone may have taken the places of others.
            if first and (not rows or (len(rows) < limit and rows[0][2] == EFFORT)):
                rows = self._nearest_of_all(connection, ask, limit=limit).fetchall()
            return VectorPool(
                tuple(ChunkKey(row[0]) for row in rows), tuple(row[1] for row in rows)
            )

        return read

    def _nearest_of_all(self, connection: Connection, ask: NearQuestion, *, limit: int) -> Cursor:
        """Ask for chunks and cosines: comparing what a filter lets through is exact and cheap."""
        statement = _NEAREST.format(table=table_of(ask.fingerprint), condition=ask.condition)
        values = (ask.vector, self._tenant, *ask.condition.values, ask.vector, limit)
        return run(connection, statement, values)

    def _nearest_first(self, connection: Connection, ask: NearQuestion, *, limit: int) -> Cursor:
        """Ask for chunks, cosines, and how many vectors were seen: EFFORT if there are more."""
        distance, tenant, values = _DISTANCE, "%s", [self._tenant]
        if self._is_indexed(connection, ask.fingerprint):
            # In the text: a plan for any tenant, which is kept, could not use the index of one.
            distance, values = _INDEXED_DISTANCE, []
            tenant = sql.Literal(self._tenant).as_string(connection).replace("%", "%%")
        statement = _NEAREST_FIRST.format(
            table=table_of(ask.fingerprint),
            condition=ask.condition,
            distance=distance.format(width=len(ask.vector.vector)),
            tenant=tenant,
        )
        asked = ask.vector
        given = (*values, asked, EFFORT, asked, *ask.condition.values, asked, limit)
        return run(connection, statement, given)

    def _is_indexed(self, connection: Connection, fingerprint: Fingerprint) -> bool:
        """Return whether this memory has an index; one that is built later is noticed later."""
        name = f"{SCHEMA}.{index_of(fingerprint, self._tenant)}"
        known = self._session.shared.indexes.get(name)
        if known is None or known[1] < time.monotonic():
            found = run(connection, _IS_INDEXED, (name,)).fetchone() is not None
            known = self._session.shared.indexes[name] = (
                found,
                time.monotonic() + _LOOK_AGAIN_SECONDS,
            )
        return known[0]

    def word_codes(
        self, fingerprint: Fingerprint, *, keys: Sequence[ChunkKey]
    ) -> Mapping[ChunkKey, bytes]:
        with self._session.reading() as connection:
            values = (self._tenant, str(fingerprint), list(keys))
            rows = run(connection, _WORDS, values).fetchall()
        return {ChunkKey(key): bytes(codes) for key, codes in rows}
