"""Finding chunks by terms: FTS5 proposes a pool, exact scoring happens above the store.

FTS5's cost is bm25() over every matching row, so the commonest words of a query are left out of
the proposal once they would match too many rows. They still count when the pool is scored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.stores.base import Corpus, KeywordPool
from recollect.stores.sqlite.facts import hidden_sql
from recollect.stores.sqlite.scope import scope_sql
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import apsw

    from recollect.types import Scope

_ROWS_BUDGET = 20_000  # rows FTS5 may score for one query: about 25 ms
_TERMS_BUDGET = 64  # terms in one FTS5 expression; its parser has a depth limit of 256

_FREQUENCIES = "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
_TOTALS = "SELECT chunks, length FROM totals"
# The weights (body, heading, path) order the proposal only; `search.bm25` has those that score.
_POOL = """
    SELECT rowid FROM terms WHERE terms MATCH ? {within}
    ORDER BY bm25(terms, 1.0, 2.0, 2.0), rowid LIMIT ?
"""
_WITHIN = """
    AND rowid IN (
        SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE {condition}
    )
"""


def keyword_pool(
    connection: apsw.Connection, terms: Sequence[str], *, scope: Scope, limit: int
) -> KeywordPool:
    """Return the best chunks by FTS5's own bm25 over the affordable terms of the query."""
    frequencies = _frequencies(connection, terms)
    chunks, length = connection.execute(_TOTALS).get
    corpus = Corpus(
        chunks=chunks,
        mean_length=length / chunks if chunks else 0.0,
        frequencies=frequencies,
    )
    asked = affordable(frequencies, budget=_ROWS_BUDGET)
    if not asked:
        return KeywordPool((), corpus)
    sql, bindings = pool_sql(asked, scope=scope, limit=limit)
    rows = connection.execute(sql, bindings)
    return KeywordPool(tuple(ChunkKey(row[0]) for row in rows), corpus)


def pool_sql(
    terms: Sequence[str], *, scope: Scope, limit: int
) -> tuple[str, tuple[str | int, ...]]:
    """Return the statement that proposes chunks, best first."""
    match = " OR ".join(quoted(term) for term in terms)
    if scope.is_open:
        hidden, bindings = hidden_sql(scope)
        within = f"AND rowid NOT IN ({hidden})"
    else:
        condition, bindings = scope_sql(scope)
        within = _WITHIN.format(condition=condition)
    return _POOL.format(within=within), (match, *bindings, limit)


def quoted(term: str) -> str:
    """Return the term as an FTS5 string: no text can act as an operator."""
    return '"' + term.replace('"', '""') + '"'


def affordable(frequencies: Mapping[str, int], *, budget: int) -> list[str]:
    """Return the rarest terms that together match no more rows than the budget, at least one."""
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


def _frequencies(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, int]:
    found = dict(connection.execute(_FREQUENCIES, (json.dumps(list(terms)),)))
    return {term: int(found.get(term, 0)) for term in terms}
