"""Finds chunks by terms: the formula of the keyword leg over a table of postings, in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores import bm25
from recollect.stores.base import Corpus
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import term_number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    UNION ALL SELECT 'unseen', 0, -count(*), -coalesce(sum(c.length), 0), 0
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
_MOST_TENANTS = 1_000  # whose counts are kept
_ROUNDED_UP = 1 + 1e-9  # sums in another order differ in their last digits


def count_terms(
    connection: Connection,
    terms: Sequence[str],
    *,
    scope: Scope,
    tenant: str,
    kept: dict[str, tuple[int, Mapping[int, int]]],
) -> tuple[Corpus, bool]:
    """Return the statistics of what the audience may see, and whether there are facts.

    Facts of others are left out: otherwise the score of a word would tell how often it occurs in
    them. Counting frequent terms takes longer than anything else about a search of a large memory,
    so `kept` has their counts by tenant, with the number of its changes.
    """
    numbers = {term: term_number(term) for term in terms}
    asked = list(numbers.values())

    def count(unknown: list[int]) -> tuple[int, list[Row]]:
        values = (tenant, sorted(scope.audience), tenant, unknown, *[tenant] * 4, asked)
        rows = run(connection, _STATISTICS, values).fetchall()
        return sum(row[4] for row in rows), rows

    known_at, known = kept.get(tenant, (0, {}))
    changes, rows = count([number for number in asked if number not in known])
    if changes != known_at and known:
        known = {}
        changes, rows = count(asked)
    held = {**known, **{term: count for kind, term, count, *_ in rows if kind == "term"}}
    if len(kept) > _MOST_TENANTS:
        kept.clear()
    kept[tenant] = changes, {term: count for term, count in held.items() if count >= _FREQUENT}
    unseen = {term: count for kind, term, count, *_ in rows if kind == "unseen term"}
    chunks = sum(row[2] for row in rows if row[0] in {"all", "unseen"})
    corpus = Corpus(
        chunks=chunks,
        mean_length=int(sum(row[3] for row in rows)) / chunks if chunks else 0.0,
        frequencies={
            term: held.get(number, 0) - unseen.get(number, 0) for term, number in numbers.items()
        },
    )
    return corpus, any(row[0] == "fact" for row in rows)


def ask_pool(  # noqa: PLR0913 - what the statement is made of
    connection: Connection,
    terms: Sequence[str],
    *,
    stop: Collection[str],
    corpus: Corpus,
    condition: Condition | None,
    tenant: str,
    limit: int,
) -> Cursor | None:
    """Ask for the chunks with the highest scores, best first; None if no chunk has a term."""
    found = [term for term in terms if corpus.frequencies[term]]
    if not found:
        return None
    weights = bm25.term_weights(found, stop=stop, corpus=corpus).tolist()
    rare, frequent = (
        [
            (term_number(term), weight)
            for term, weight in zip(found, weights, strict=True)
            if (corpus.frequencies[term] >= _FREQUENT) is is_frequent
        ]
        for is_frequent in (False, True)
    )
    norm = (bm25.K1 * (1 - bm25.B), bm25.K1 * bm25.B / (corpus.mean_length or 1.0))
    own = (bm25.MOST, *norm, tenant)
    among = _AMONG.format(condition=condition) if condition else ""
    filtered = (*own, *(condition.values if condition else ()))
    if rare and frequent:
        most = sum(weight for _, weight in frequent) * bm25.MOST * _ROUNDED_UP
        statement = _POOL_BY_RARE
        values = (
            *(*_columns(rare), *_columns(frequent)),
            *filtered,
            *(max(limit - 1, 0), most, most),
            *own,
            *(*filtered, limit),
        )
    else:
        statement, values = _POOL, (*_columns(rare or frequent), *filtered, limit)
    return run(connection, statement.format(among=among), values)


def _columns(weighed: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [term for term, _ in weighed], [weight for _, weight in weighed]
