"""Finds chunks by terms: FTS5 proposes a pool, exact scoring happens above the store.

FTS5 computes bm25() for every matching row. So the most common words of a query are left out of the
FTS5 query once they would match too many rows. They still count when the pool is scored.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.stores import term_counts
from recollect.stores.base import Corpus, KeywordIndex, KeywordPool
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.rows import (
    RowError,
    blob_of,
    hidden_sql,
    match_all,
    match_any,
    scope_sql,
    whole_of,
)
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from recollect.types import Scope

_ROWS_BUDGET = 20_000  # rows FTS5 may score for one query: about 25 ms
_TERMS_BUDGET = 64  # terms in one FTS5 expression; its parser has a depth limit of 256

_FREQUENCIES = "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
_TOTALS = "SELECT chunks, length FROM totals"
_LENGTHS_AND_BAGS = "SELECT length, bag FROM chunks WHERE id IN ({ids})"
# These weights (body, heading, path) only order the pool; those that score are in `search.bm25`.
_POOL = """
    SELECT rowid FROM terms WHERE terms MATCH ? {within}
    ORDER BY bm25(terms, 1.0, 2.0, 2.0), rowid LIMIT ?
"""
_WITHIN = """
    AND rowid IN (
        SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE {condition}
    )
"""


class SqliteKeywords(SqliteFile, KeywordIndex):
    """Finds chunks by terms."""

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordPool:
        """Return the best chunks by FTS5's own bm25 over the affordable terms of the query."""
        with self._reading() as connection:
            corpus = _corpus(connection, terms, scope=scope)
            # A phrase leaves few rows to score, so no word of the question has to be left out.
            budget = corpus.chunks * len(terms) if scope.phrases else _ROWS_BUDGET
            asked = affordable(corpus.frequencies, budget=budget)
            if not asked and not (scope.phrases and scope.phrases[0].terms):
                return KeywordPool((), corpus)
            sql, bindings = pool_sql(asked, scope=scope, limit=limit)
            rows = connection.execute(sql, bindings)
            return KeywordPool(tuple(ChunkKey(row[0]) for row in rows), corpus)


def pool_sql(
    terms: Sequence[str], *, scope: Scope, limit: int
) -> tuple[str, tuple[str | int, ...]]:
    """Return the statement that proposes chunks, best first."""
    required = scope.phrases[0].terms if scope.phrases else ()
    match = match_any((*required, *terms))
    if required:
        match = f"({match_all(required)}) AND ({match})"
    if scope.is_open:
        hidden, bindings = hidden_sql(scope)
        within = f"AND rowid NOT IN ({hidden})"
    else:
        condition, bindings = scope_sql(scope)
        within = _WITHIN.format(condition=condition)
    return _POOL.format(within=within), (match, *bindings, limit)


def affordable(frequencies: Mapping[str, int], *, budget: int) -> list[str]:
    """Return the rarest terms that together match at most `budget` rows, at least one term."""
    asked: list[str] = []
    rows = 0
    for term in sorted(frequencies, key=lambda term: (frequencies[term], term)):
        rows += frequencies[term]
        if not frequencies[term]:
            continue
        if asked and (rows > budget or len(asked) == _TERMS_BUDGET):
            break
        asked.append(term)
    return asked


def _corpus(connection: apsw.Connection, terms: Sequence[str], *, scope: Scope) -> Corpus:
    """Return the statistics of what the audience may see.

    Otherwise the score of a word would tell how often it occurs in the facts of others.
    """
    frequencies = _frequencies(connection, terms)
    chunks, length = _totals(connection)
    foreign, bindings = hidden_sql(replace(scope, with_superseded=True))
    rows = list(connection.execute(_LENGTHS_AND_BAGS.format(ids=foreign), bindings))
    if rows:
        chunks -= len(rows)
        length -= sum(whole_of(row[0]) for row in rows)
        asked = list(frequencies)
        bags = [blob_of(row[1], entry_bytes=term_counts.ENTRY_BYTES) for row in rows]
        held = term_counts.count(bags, asked).any(axis=2).sum(axis=0)
        for term, count in zip(asked, held.tolist(), strict=True):
            frequencies[term] -= count
    return Corpus(
        chunks=chunks, mean_length=length / chunks if chunks else 0.0, frequencies=frequencies
    )


def _totals(connection: apsw.Connection) -> tuple[int, int]:
    """Return the number of chunks and of their body terms."""
    row = connection.execute(_TOTALS).fetchone()
    if row is None:
        raise RowError("the totals are missing")
    return whole_of(row[0]), whole_of(row[1])


def _frequencies(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, int]:
    found = dict(connection.execute(_FREQUENCIES, (json.dumps(list(terms)),)))
    return {term: int(found.get(term, 0)) for term in terms}
