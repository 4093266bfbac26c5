"""Finds chunks by terms: the shared formula over a tenant's pieces, which one round trip brings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from recollect.stores import postings
from recollect.stores.base import FIELDS, KeywordPool
from recollect.stores.bm25 import FIELD_WEIGHTS
from recollect.stores.postgres.connect import run
from recollect.stores.postgres.rows import JOINED, hidden_sql
from recollect.stores.postgres.segments import ask_pieces
from recollect.stores.postings import Part
from recollect.stores.term_counts import hash_of
from recollect.text.terms import terms as terms_of
from recollect.types import ChunkKey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy.typing as npt

    from recollect.stores.postgres.connect import Connection, Session
    from recollect.stores.postgres.rows import Condition
    from recollect.stores.postgres.segments import Ids, Piece
    from recollect.stores.postings import Mask
    from recollect.types import Scope

# One value of eight bytes an id: a row for each would take more than twice as much.
_IN_SCOPE = f"""
    SELECT coalesce(string_agg(int8send(c.id), ''), '') FROM {JOINED} WHERE {{condition}}
"""  # noqa: S608 - our own names
FOUND = "terms"
"""What a transaction keeps of its last question: the terms, and the pieces with their postings."""
_BODY, _PATH = FIELDS.index("body"), FIELDS.index("path")
_HIDDEN = "SELECT f.chunk, f.scope = ANY(%s) {hidden}"


def ask_pool(  # noqa: PLR0913 - what a question consists of
    session: Session,
    connection: Connection,
    terms: Sequence[str],
    *,
    scope: Scope,
    condition: Condition,
    stop: Collection[str],
    limit: int,
) -> Callable[[], KeywordPool]:
    """Ask for the chunks with the highest scores; return what reads the answer.

    Facts of others are left out of the statistics: otherwise the score of a word would tell how
    often it occurs in them.
    """
    asked = list(dict.fromkeys(terms))
    numbers = [hash_of(term) for term in asked]
    read_pieces = ask_pieces(connection, numbers, tenant=condition.tenant)
    sql, values = hidden_sql(scope, tenant=condition.tenant)
    facts = run(connection, _HIDDEN.format(hidden=sql), (sorted(scope.audience), *values))
    statement = _IN_SCOPE.format(condition=condition)
    in_scope = None if scope.is_open else run(connection, statement, condition.values)

    def read() -> KeywordPool:
        pieces, hidden = read_pieces(), facts.fetchall()
        session.kept[FOUND] = frozenset(asked), pieces
        foreign = _ids(chunk for chunk, is_own in hidden if not is_own)
        unseen = _ids(chunk for chunk, _ in hidden)
        allowed = None if in_scope is None else np.frombuffer(in_scope.fetchall()[0][0], ">i8")
        parts = []
        for piece in pieces:
            visible = _without(piece.live, piece, foreign)
            seen = visible if allowed is None else np.isin(piece.ids, allowed)
            seen = _without(seen, piece, unseen)
            found = [piece.find(number) for number in numbers]
            parts.append(Part(found, piece.lengths, visible=visible, allowed=seen))
        lengths = [
            part.lengths if part.visible is None else part.lengths[part.visible] for part in parts
        ]
        corpus, best = postings.choose(
            parts,
            asked,
            stop=stop,
            chunks=sum(map(len, lengths)),
            length=sum(int(own.sum(dtype=np.int64)) for own in lengths),
            limit=limit,
        )
        keys = (ChunkKey(int(pieces[part].ids[place])) for part, place in best)
        return KeywordPool(tuple(keys), corpus)

    return read


def _ids(chunks: Iterable[int]) -> Ids:
    return np.fromiter(chunks, dtype=np.int64)


def _without(mask: Mask | None, piece: Piece, gone: Ids) -> Mask | None:
    """Return a mask without some chunks; None is all of them."""
    if not len(gone):
        return mask
    others = ~np.isin(piece.ids, gone)
    return others if mask is None else mask & others


def counts_of(
    pieces: Sequence[Piece],
    keys: Sequence[ChunkKey],
    terms: Sequence[str],
    *,
    paths: Sequence[str],
) -> npt.NDArray[np.uint8]:
    """Return the term counts of chunks from postings, which the question has brought already.

    Postings have sums. What a path adds to them follows from it; the rest stands for body and
    heading together, as nothing tells these two apart.
    """
    counts = np.zeros((len(keys), len(terms), len(FIELDS)), dtype=np.uint8)
    wanted = np.array(keys, dtype=np.int64)
    for piece in pieces:
        rows = np.flatnonzero(np.isin(wanted, piece.ids))
        places = np.searchsorted(piece.ids, wanted[rows])
        for column, term in enumerate(terms):
            found = piece.find(hash_of(term))
            if found is not None and len(rows):
                own = np.zeros(piece.chunks, dtype=np.uint8)
                own[slice(None) if found.places is None else found.places] = found.frequencies
                counts[rows, column, _BODY] = own[places]
    in_path = {path: Counter(terms_of(path)) for path in set(paths)}
    for row, path in enumerate(paths):
        for column, term in enumerate(terms):
            if times := in_path[path][term]:
                counts[row, column, _PATH] = times
                counts[row, column, _BODY] -= min(
                    FIELD_WEIGHTS[_PATH] * times, counts[row, column, _BODY]
                )
    return counts
