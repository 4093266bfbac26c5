"""Finds chunks by terms: the formula of the keyword leg over a table of postings, in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.stores import bm25
from recollect.stores.base import Corpus
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import term_number
from recollect.stores.postgres.tenant import TenantTables
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from recollect.stores.postgres.connect import Connection, Cursor, Row
    from recollect.stores.postgres.rows import Condition
    from recollect.types import Scope

# All that weights need, in one round trip: of each term, of everything, and of the facts that the
# audience may not see.
_STATISTICS = """
    WITH unseen AS (SELECT chunk FROM facts f WHERE f.tenant = %s AND NOT f.scope = ANY(%s))
    SELECT 'term', p.term, count(*), 0, 0 FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) GROUP BY p.term
    UNION ALL SELECT 'all', 0, t.chunks, t.length, t.changes FROM tenants t WHERE t.tenant = %s
    UNION ALL SELECT 'fact', 0, 0, 0, 0 WHERE EXISTS (SELECT 1 FROM facts f WHERE f.tenant = %s)
    UNION ALL SELECT 'unseen', 0, count(*), coalesce(sum(c.length), 0), 0
    FROM unseen u JOIN chunks c ON c.tenant = %s AND c.id = u.chunk
    UNION ALL SELECT 'unseen term', p.term, count(*), 0, 0 FROM postings p
    WHERE p.tenant = %s AND p.term = ANY(%s) AND EXISTS (SELECT 1 FROM unseen)
        AND p.chunk IN (SELECT chunk FROM unseen) GROUP BY p.term
"""
# `frequency × most / (frequency + norm)` is `bm25.saturated`, and the norm is `bm25.norms`.
_SCORE = "sum(a.weight * p.frequency * %s / (p.frequency + %s + %s * p.length))"
# Terms are added up in any order, so equal scores may differ in their last digits.
_RANK = "round(score * 1e9) DESC, chunk"
_POOL = f"""
    WITH asked AS (SELECT * FROM unnest(%s::int4[], %s::float8[]) AS asked (term, weight)),
    scored AS (
        SELECT p.chunk, {_SCORE} AS score
        FROM asked a JOIN postings p ON p.tenant = %s AND p.term = a.term {{among}}
        GROUP BY p.chunk
    )
    SELECT chunk FROM scored ORDER BY {_RANK} LIMIT %s
"""  # noqa: S608 - our own column names
# The same without reading all postings of frequent terms (MaxScore, Turtle and Flood 1995). All of
# them together add at most so much: a chunk of the pool comes that close to it by its rare terms,
# and only for such chunks the frequent ones are looked up. If rare terms do not decide, no chunk is
# near, and all postings are read.
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
    ),
    both_kinds AS (SELECT * FROM rare UNION ALL SELECT * FROM frequent)
    SELECT chunk FROM (
        SELECT n.chunk, n.score + coalesce((
            SELECT {_SCORE} FROM frequent a JOIN postings p
            ON p.tenant = %s AND p.term = a.term AND p.chunk = n.chunk
        ), 0) AS score FROM near n
        UNION ALL SELECT everything.chunk, everything.score FROM (
            SELECT p.chunk, {_SCORE} AS score
            FROM both_kinds a JOIN postings p ON p.tenant = %s AND p.term = a.term {{among}}
            GROUP BY p.chunk
        ) everything WHERE NOT (SELECT EXISTS (SELECT 1 FROM near))
    ) pool ORDER BY {_RANK} LIMIT %s
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

    words: list[str]
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


class PostgresKeywords(TenantTables):
    """Finds chunks by terms."""

    def _pool(
        self, connection: Connection, asked: _Asked, *, corpus: Corpus, limit: int
    ) -> Callable[[], tuple[ChunkKey, ...]]:
        """Ask for the pool; return what reads the answer."""
        if not asked.terms:
            return tuple
        is_frequent = [corpus.frequencies[term] >= _FREQUENT for term in asked.words]
        own = (*asked.formula, self._tenant)
        if all(is_frequent) or not any(is_frequent):
            statement = _POOL
            values = (asked.terms, asked.weights, *own, *asked.values, limit)
        else:
            statement = _POOL_BY_RARE
            rare, frequent = asked.split(is_frequent)
            most = sum(frequent[1]) * bm25.MOST * _ROUNDED_UP
            values = (
                *(*rare, *frequent),
                *(*own, *asked.values),
                *(max(limit - 1, 0), most, most),
                *own,
                *(*own, *asked.values, limit),
            )
        rows = run(connection, statement.format(among=asked.among), values)
        return lambda: tuple(ChunkKey(row[0]) for row in rows.fetchall())

    def _statistics(
        self, connection: Connection, terms: Sequence[str], *, scope: Scope
    ) -> Callable[[], tuple[Corpus, bool]]:
        """Ask for the statistics of what the audience may see, and whether there are facts.

        Facts of others are left out: otherwise the score of a word would tell how often it occurs
        in them. Returns what reads the answer.
        """
        numbers = {term: term_number(term) for term in terms}
        asked = list(numbers.values())
        known = self._session.shared.frequencies(self._tenant)
        known_at, kept = known.state
        unknown = [number for number in asked if number not in kept]
        rows = self._count(connection, unknown, asked, scope=scope)

        def read() -> tuple[Corpus, bool]:
            counted = _Counted.of(rows.fetchall())
            if counted.changes == known_at:
                held = {**counted.held, **{each: kept[each] for each in asked if each in kept}}
            elif len(unknown) < len(asked):  # what is kept is of another state
                again = self._count(connection, asked, asked, scope=scope)
                held = _Counted.of(again.fetchall()).held
            else:
                held = counted.held
            often = {each: count for each, count in held.items() if count >= _FREQUENT}
            known.keep(counted.changes, often)
            return counted.corpus(numbers, held), counted.has_facts

        return read

    def _count(
        self, connection: Connection, numbers: list[int], asked: list[int], *, scope: Scope
    ) -> Cursor:
        own = self._tenant
        unseen = (own, sorted(scope.audience))
        return run(connection, _STATISTICS, (*unseen, own, numbers, own, own, own, own, asked))


@dataclass(slots=True)
class _Counted:
    """The rows of _STATISTICS."""

    held: dict[int, int]
    unseen: dict[int, int]
    chunks: int = 0
    length: int = 0
    changes: int = 0
    has_facts: bool = False

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Counted:
        """Read the rows."""
        counted = cls({}, {})
        for kind, term, count, length, changes in rows:
            if kind == "term":
                counted.held[term] = count
            elif kind == "unseen term":
                counted.unseen[term] = count
            elif kind == "fact":
                counted.has_facts = True
            else:
                sign = -1 if kind == "unseen" else 1
                counted.chunks += sign * count
                counted.length += sign * int(length)
                counted.changes += changes
        return counted

    def corpus(self, numbers: Mapping[str, int], held: Mapping[int, int]) -> Corpus:
        """Return the statistics of the terms, given how many chunks have each."""
        return Corpus(
            chunks=self.chunks,
            mean_length=self.length / self.chunks if self.chunks else 0.0,
            frequencies={
                term: int(held.get(number, 0) - self.unseen.get(number, 0))
                for term, number in numbers.items()
            },
        )


def asked_terms(
    terms: Sequence[str], stop: Collection[str], corpus: Corpus, condition: Condition | None
) -> _Asked:
    """Return what the statement for the pool of a question is made of."""
    found = [term for term in terms if corpus.frequencies[term]]
    return _Asked(
        found,
        [term_number(term) for term in found],
        bm25.term_weights(found, stop=stop, corpus=corpus).tolist() if found else [],
        (
            bm25.MOST,
            bm25.K1 * (1 - bm25.B),
            bm25.K1 * bm25.B / (corpus.mean_length or 1.0),
        ),
        _AMONG.format(condition=condition) if condition else "",
        tuple(condition.values) if condition else (),
    )
