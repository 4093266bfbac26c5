"""Finds chunks by terms: the formula of the keyword leg over a table of postings, in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
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

# One row for each term that occurs, and one or two more with the totals: one round trip.
_STATISTICS = """
    SELECT p.term, count(*), 0, 0 FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) GROUP BY p.term
    UNION ALL SELECT NULL, t.chunks, t.length, t.changes FROM tenants t WHERE t.tenant = %s
    UNION ALL SELECT NULL, -1, 0, 0 WHERE EXISTS (SELECT 1 FROM facts f WHERE f.tenant = %s)
"""
_FOREIGN = "SELECT c.id, c.length FROM chunks c WHERE c.tenant = %s AND EXISTS ({hidden})"
_FOREIGN_FREQUENCIES = """
    SELECT p.term, count(*) FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) AND p.chunk = ANY(%s) GROUP BY p.term
"""
# `frequency × most / (frequency + norm)` is `bm25.saturated`, and the norm is `bm25.norms`.
_SCORE = "sum(a.weight * p.frequency * %s / (p.frequency + %s + %s * p.length))"
_POOL = f"""
    WITH asked AS (SELECT * FROM unnest(%s::int4[], %s::float8[]) AS asked (term, weight)),
    scored AS (
        SELECT p.chunk, {_SCORE} AS score
        FROM asked a JOIN postings p ON p.tenant = %s AND p.term = a.term {{among}}
        GROUP BY p.chunk
    )
    SELECT chunk FROM scored ORDER BY score DESC, chunk LIMIT %s
"""  # noqa: S608 - our own column names
# The same without reading all postings of frequent terms (MaxScore, Turtle and Flood 1995). All of
# them together add at most so much: a chunk of the pool comes that close to it by its rare terms,
# and only for such chunks the frequent ones are looked up. No row if rare terms do not decide.
_POOL_BY_RARE = f"""
    WITH rare AS (SELECT * FROM unnest(%s::int4[], %s::float8[]) AS rare (term, weight)),
    frequent AS (SELECT * FROM unnest(%s::int4[], %s::float8[]) AS frequent (term, weight)),
    scored AS MATERIALIZED (
        SELECT p.chunk, {_SCORE} AS score
        FROM rare a JOIN postings p ON p.tenant = %s AND p.term = a.term {{among}}
        GROUP BY p.chunk
    ),
    least AS (SELECT score FROM scored ORDER BY score DESC OFFSET %s LIMIT 1),
    near AS MATERIALIZED (
        SELECT s.chunk, s.score FROM scored s, least
        WHERE least.score > %s AND s.score >= least.score - %s
    )
    SELECT n.chunk FROM near n ORDER BY n.score + coalesce((
        SELECT {_SCORE} FROM frequent a JOIN postings p
        ON p.tenant = %s AND p.term = a.term AND p.chunk = n.chunk
    ), 0) DESC, n.chunk LIMIT %s
"""  # noqa: S608 - our own column names
_AMONG = """
    AND p.chunk IN (
        SELECT c.id FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
        WHERE {condition}
    )
"""
# Of a term: so many postings take longer to count and to add up than to look up for some chunks.
_FREQUENT = 1_000
_ROUNDED_UP = 1 + 1e-9  # sums in another order differ in their last digits


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the statement for a pool is made of."""

    terms: list[int]
    weights: list[float]
    formula: tuple[float, float, float]
    among: str
    values: tuple[object, ...]

    def split(
        self, is_frequent: Sequence[bool]
    ) -> tuple[tuple[list[int], list[float]], tuple[list[int], list[float]]]:
        """Return the terms and weights of the rare terms, and those of the frequent ones."""
        rare: tuple[list[int], list[float]] = ([], [])
        frequent: tuple[list[int], list[float]] = ([], [])
        for term, weight, is_one in zip(self.terms, self.weights, is_frequent, strict=True):
            terms, weights = frequent if is_one else rare
            terms.append(term)
            weights.append(weight)
        return rare, frequent


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
            asked = _Asked(
                [term_number(term) for term in found],
                weights.tolist(),
                (
                    bm25.MOST,
                    bm25.K1 * (1 - bm25.B),
                    bm25.K1 * bm25.B / (corpus.mean_length or 1.0),
                ),
                _AMONG.format(condition=condition) if has_filter else "",
                tuple(condition.values) if has_filter else (),
            )
            is_frequent = [corpus.frequencies[term] >= _FREQUENT for term in found]
            keys = self._pool_by_rare(connection, asked, is_frequent, limit=limit)
            if not keys:
                keys = self._pool(connection, asked, limit=limit)
            return KeywordPool(tuple(map(ChunkKey, keys)), corpus)

    def _pool(self, connection: Connection, asked: _Asked, *, limit: int) -> list[int]:
        values = (asked.terms, asked.weights, *asked.formula, self._tenant, *asked.values, limit)
        return [row[0] for row in run(connection, _POOL.format(among=asked.among), values)]

    def _pool_by_rare(
        self, connection: Connection, asked: _Asked, is_frequent: Sequence[bool], *, limit: int
    ) -> list[int]:
        """Return the pool, or nothing if frequent terms may decide."""
        if all(is_frequent) or not any(is_frequent):
            return []
        rare, frequent = asked.split(is_frequent)
        most = sum(frequent[1]) * bm25.MOST * _ROUNDED_UP
        values = (
            *rare,
            *frequent,
            *(*asked.formula, self._tenant, *asked.values),
            *(max(limit - 1, 0), most, most),
            *(*asked.formula, self._tenant, limit),
        )
        return [row[0] for row in run(connection, _POOL_BY_RARE.format(among=asked.among), values)]

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
        held, (chunks, length), has_facts = self._frequencies(connection, asked)
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
            mean_length=length / chunks if chunks else 0.0,
            frequencies={term: int(held.get(number, 0)) for term, number in numbers.items()},
        )
        return corpus, has_facts

    def _frequencies(
        self, connection: Connection, numbers: list[int]
    ) -> tuple[dict[int, int], tuple[int, int], bool]:
        """Return how many chunks have each term; how many there are, their length; any facts."""
        known = self._session.frequencies
        unknown = [number for number in numbers if number not in known.counts]
        held, (chunks, length, changes), has_facts = self._counted(connection, unknown)
        if changes == known.changes:
            held |= {each: known.counts[each] for each in numbers if each in known.counts}
        elif len(unknown) < len(numbers):
            held, _, _ = self._counted(connection, numbers)
        known.keep(changes, {each: count for each, count in held.items() if count >= _FREQUENT})
        return held, (chunks, length), has_facts

    def _counted(
        self, connection: Connection, numbers: list[int]
    ) -> tuple[dict[int, int], tuple[int, int, int], bool]:
        """Return the same, counted now, with the number of changes."""
        held: dict[int, int] = {}
        totals, has_facts = (0, 0, 0), False
        values = (self._tenant, numbers, self._tenant, self._tenant)
        for number, count, length, changes in run(connection, _STATISTICS, values):
            if number is not None:
                held[number] = count
            elif count < 0:
                has_facts = True
            else:
                totals = (count, int(length), changes)
        return held, totals, has_facts
