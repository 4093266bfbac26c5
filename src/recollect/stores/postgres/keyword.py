"""Finds chunks by terms: the formula of the keyword leg over a table of postings, in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.stores import bm25
from recollect.stores.base import Corpus, KeywordIndex, KeywordPool
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import hidden_sql, scope_condition, term_number
from recollect.stores.postgres.tenant import TenantTables
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from recollect.stores.postgres.connect import Connection
    from recollect.types import Scope

_TOTALS = "SELECT chunks, length FROM tenants WHERE tenant = %s"
_FREQUENCIES = """
    SELECT p.term, count(*) FROM postings p WHERE p.tenant = %s AND p.term = ANY(%s) GROUP BY p.term
"""
_FOREIGN = "SELECT c.id, c.length FROM chunks c WHERE c.tenant = %s AND EXISTS ({hidden})"
_FOREIGN_FREQUENCIES = """
    SELECT p.term, count(*) FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) AND p.chunk = ANY(%s) GROUP BY p.term
"""
# `frequency × most / (frequency + norm)` is `bm25.saturated`, and the norm is `bm25.norms`.
_POOL = """
    WITH asked AS (SELECT * FROM unnest(%s::int4[], %s::float8[]) AS asked (term, weight)),
    scored AS (
        SELECT p.chunk, sum(
            a.weight * p.frequency * %s / (p.frequency + %s + %s * p.length)
        ) AS score
        FROM asked a JOIN postings p ON p.tenant = %s AND p.term = a.term {among}
        GROUP BY p.chunk
    )
    SELECT chunk FROM scored ORDER BY score DESC, chunk LIMIT %s
"""
_AMONG = """
    AND p.chunk IN (
        SELECT c.id FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
        WHERE {condition}
    )
"""


class PostgresKeywords(TenantTables, KeywordIndex):
    """Finds chunks by terms."""

    def keyword(
        self, terms: Sequence[str], *, scope: Scope, limit: int, stop: Collection[str] = ()
    ) -> KeywordPool:
        """Return the chunks in scope that score highest for the terms."""
        with self._session.reading() as connection:
            corpus = self._corpus(connection, terms, scope=scope)
            found = [term for term in terms if corpus.frequencies[term]]
            if not found:
                return KeywordPool((), corpus)
            weights = bm25.term_weights(found, stop=stop, corpus=corpus)
            condition = scope_condition(connection, scope, tenant=self._tenant)
            has_filter = not scope.is_open or self._has_facts(connection)
            among = _AMONG.format(condition=condition) if has_filter else ""
            rows = run(
                connection,
                _POOL.format(among=among),
                (
                    [term_number(term) for term in found],
                    weights.tolist(),
                    bm25.MOST,
                    bm25.K1 * (1 - bm25.B),
                    bm25.K1 * bm25.B / (corpus.mean_length or 1.0),
                    self._tenant,
                    *(condition.values if has_filter else ()),
                    limit,
                ),
            )
            return KeywordPool(tuple(ChunkKey(row[0]) for row in rows), corpus)

    def _has_facts(self, connection: Connection) -> bool:
        query = "SELECT 1 FROM facts WHERE tenant = %s LIMIT 1"
        return run(connection, query, (self._tenant,)).fetchone() is not None

    def _corpus(self, connection: Connection, terms: Sequence[str], *, scope: Scope) -> Corpus:
        """Return the statistics of what the audience may see.

        Otherwise the score of a word would tell how often it occurs in the facts of others.
        """
        numbers = {term: term_number(term) for term in terms}
        asked = list(numbers.values())
        held: dict[int, int] = dict(run(connection, _FREQUENCIES, (self._tenant, asked)).fetchall())
        chunks, length = run(connection, _TOTALS, (self._tenant,)).fetchone() or (0, 0)
        hidden, values = hidden_sql(replace(scope, with_superseded=True), tenant=self._tenant)
        foreign = run(
            connection,
            _FOREIGN.format(hidden=f"{hidden} AND f.chunk = c.id"),
            (self._tenant, *values),
        ).fetchall()
        if foreign:
            keys = [key for key, _ in foreign]
            chunks -= len(foreign)
            length -= sum(each for _, each in foreign)
            others = run(connection, _FOREIGN_FREQUENCIES, (self._tenant, asked, keys))
            for term, count in others:
                held[term] -= count
        return Corpus(
            chunks=chunks,
            mean_length=length / chunks if chunks else 0.0,
            frequencies={term: int(held.get(number, 0)) for term, number in numbers.items()},
        )
