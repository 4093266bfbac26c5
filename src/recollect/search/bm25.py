"""BM25F over chunks: one formula for every store.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
Lucene's idf, which stays positive for words that occur in most chunks: in a small memory nearly
every word does. Fields are combined before saturation: a word in the heading counts as several in
the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.stores.base import Corpus, Loaded
    from recollect.text.terms import QueryTerms

K1 = 1.0
B = 0.4
"""Low, because chunks have similar lengths by construction."""
FIELD_WEIGHTS = (1.0, 2.0, 2.0)
"""Body, heading, path: where a word occurs tells how much the chunk is about it."""
STOP_WEIGHT = 0.25
"""A function word carries little information, but a query of nothing else still works."""


@dataclass(frozen=True, slots=True)
class KeywordScores:
    """The keyword leg's raw score of each chunk."""

    raw: npt.NDArray[np.float64]
    bound: float
    """The score of a chunk that is about nothing but the query."""


def bm25(loaded: Loaded, *, question: QueryTerms, corpus: Corpus) -> KeywordScores:
    """Return BM25 of every loaded chunk, and the query's own upper bound."""
    weights = term_weights(question, corpus=corpus)
    frequency = loaded.counts @ np.array(FIELD_WEIGHTS)
    mean_length = corpus.mean_length or 1.0
    norm = K1 * (1 - B + B * loaded.lengths / mean_length)
    saturated = frequency * (K1 + 1) / (frequency + norm[:, None])
    return KeywordScores(raw=saturated @ weights, bound=float(weights.sum()) * (K1 + 1))


def term_weights(question: QueryTerms, *, corpus: Corpus) -> npt.NDArray[np.float64]:
    """Return each term's share of the query's information."""
    frequencies = np.array([corpus.frequencies[term] for term in question.terms], dtype=np.float64)
    idf = np.log1p((corpus.chunks - frequencies + 0.5) / (frequencies + 0.5))
    is_stop = np.array([term in question.stop for term in question.terms], dtype=np.bool_)
    weights: npt.NDArray[np.float64] = np.where(is_stop, idf * STOP_WEIGHT, idf)
    return weights
