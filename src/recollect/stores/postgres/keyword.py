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

# One row for each term that occurs, and one more with the totals: one round trip for all of them.
_STATISTICS = """
    SELECT p.term, count(*), 0 FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) GROUP BY p.term
    UNION ALL SELECT NULL, t.chunks, t.length FROM tenants t WHERE t.tenant = %s
    UNION ALL SELECT NULL, -1, 0 WHERE EXISTS (SELECT 1 FROM facts f WHERE f.tenant = %s)
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
            corpus, has_facts = self._corpus(connection, terms, scope=scope)
            found = [term for term in terms if corpus.frequencies[term]]
            if not found:
                return KeywordPool((), corpus)
            weights = bm25.term_weights(found, stop=stop, corpus=corpus)
            condition = scope_condition(connection, scope, tenant=self._tenant)
            has_filter = has_facts or not scope.is_open
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

    def _corpus(
        self, connection: Connection, terms: Sequence[str], *, scope: Scope
    ) -> tuple[Corpus, bool]:
        """Return the statistics of what the audience may see, and whether there are facts.

        Facts of others are left out: otherwise the score of a word would tell how often it occurs
        in them.
        """
        numbers = {term: term_number(term) for term in terms}
        asked = list(numbers.values())
        own = self._tenant
        held: dict[int, int] = {}
        chunks, length, has_facts = 0, 0, False
        for number, count, size in run(connection, _STATISTICS, (own, asked, own, own)):
            if number is not None:
                held[number] = count
            elif count < 0:
                has_facts = True
            else:
                chunks, length = count, size
        if has_facts:
            hidden, values = hidden_sql(replace(scope, with_superseded=True), tenant=own)
            statement = _FOREIGN.format(hidden=f"{hidden} AND f.chunk = c.id")
            foreign = run(connection, statement, (own, *values)).fetchall()
            chunks -= len(foreign)
            length -= sum(each for _, each in foreign)
            keys = [key for key, _ in foreign]
            for number, count in run(connection, _FOREIGN_FREQUENCIES, (own, asked, keys)):
                held[number] -= count
        corpus = Corpus(
            chunks=chunks,
            mean_length=int(length) / chunks if chunks else 0.0,
            frequencies={term: int(held.get(number, 0)) for term, number in numbers.items()},
        )
        return corpus, has_facts
