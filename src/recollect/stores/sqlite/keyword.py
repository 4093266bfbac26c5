"""Finds chunks by terms: postings of all segments, scored by the formula that search uses.

A query reads the postings of its own terms and nothing else of the keyword index. How often a term
occurs follows from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.stores import bm25, term_counts
from recollect.stores.base import Corpus, KeywordPool
from recollect.stores.postings import Part, best
from recollect.stores.sqlite.connect import SqliteFile
from recollect.stores.sqlite.filters import Filter
from recollect.stores.sqlite.segments import segments, state_of
from recollect.types import ChunkKey, Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class SqliteKeywords(SqliteFile):
    """Finds chunks by terms."""

    def _keyword(
        self, terms: Sequence[str], *, scope: Scope, limit: int, stop: Collection[str]
    ) -> KeywordPool:
        with self._reading() as connection:
            state = state_of(connection)
            pieces = segments(connection, state)
            asked = list(dict.fromkeys(terms))
            hashes = [term_counts.hash_of(term) for term in asked]
            # The score of a word must not tell how often it occurs in the facts of others.
            everything = Scope(audience=scope.audience, with_superseded=True)
            visible = Filter(connection, everything, state=state)
            allowed = Filter(connection, scope, state=state)
            views = [visible.view(piece) for piece in pieces]
            parts = [
                Part(
                    [piece.find(term) for term in hashes],
                    piece.column("lengths"),
                    visible=view.mask,
                    allowed=allowed.view(piece).mask,
                )
                for piece, view in zip(pieces, views, strict=True)
            ]
            chunks = sum(view.chunks for view in views)
            length = sum(view.length for view in views)
            counted = np.array([part.frequencies() for part in parts], dtype=np.int64)
            held = counted.reshape(len(parts), len(asked)).sum(axis=0).tolist()
            corpus = Corpus(
                chunks=chunks,
                mean_length=length / chunks if chunks else 0.0,
                frequencies=dict(zip(asked, held, strict=True)),
            )
            weights = bm25.term_weights(asked, stop=stop, corpus=corpus)
            found = best(parts, weights=weights, corpus=corpus, limit=limit)
            ids = [piece.column("ids") for piece in pieces]
            keys = [pieces[part].first + int(ids[part][place]) for part, place in found]
            return KeywordPool(tuple(map(ChunkKey, keys)), corpus)
