"""The formula of the keyword leg: BM25F. Stores choose their pool by it, and search scores by it.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
Lucene's idf, which stays positive for words that occur in most chunks: in a small memory nearly
every word does. Fields are combined before saturation: a word in the heading counts as several in
the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from recollect.stores.base import Corpus, Loaded
    from recollect.text.terms import QueryTerms

K1 = 1.0
B = 0.4
"""Low, because chunks have similar lengths by construction."""
FIELD_WEIGHTS = (1, 2, 2)
"""Body, heading, path: where a word occurs tells how much the chunk is about it.

Postings store sums of weighted counts, so another weight needs a migration that rebuilds them.
"""
STOP_WEIGHT = 0.25
"""A function word carries little information, but a query of nothing else still works."""
MOST = K1 + 1.0
"""Bound of a term's frequency after saturation."""


def bm25(
    loaded: Loaded, *, question: QueryTerms, corpus: Corpus
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the scores of all loaded chunks, and that of one about nothing but the query."""
    weights = term_weights(question.terms, stop=question.stop, corpus=corpus)
    found = scores(loaded.counts, lengths=loaded.lengths, weights=weights, corpus=corpus)
    return found, float(weights.sum()) * MOST


def scores(
    counts: npt.NDArray[np.uint8],
    *,
    lengths: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    corpus: Corpus,
) -> npt.NDArray[np.float64]:
    """Return the scores of chunks with these term counts, chunk by term by field."""
    frequencies = counts @ np.array(FIELD_WEIGHTS, dtype=np.float64)
    counted = saturated(frequencies, norms(lengths, corpus=corpus)[:, None])
    summed: npt.NDArray[np.float64] = counted @ weights
    return summed


def term_weights(
    terms: Sequence[str], *, stop: Collection[str], corpus: Corpus
) -> npt.NDArray[np.float64]:
    """Return each term's share of the query's information."""
    frequencies = np.array([corpus.frequencies[term] for term in terms], dtype=np.float64)
    idf = np.log1p((corpus.chunks - frequencies + 0.5) / (frequencies + 0.5))
    is_stop = np.array([term in stop for term in terms], dtype=np.bool_)
    weights: npt.NDArray[np.float64] = np.where(is_stop, idf * STOP_WEIGHT, idf)
    return weights


def unknown_share(terms: Sequence[str], *, stop: Collection[str], corpus: Corpus) -> float:
    """Return the share of the query's information in terms that no chunk contains."""
    weights = term_weights(terms, stop=stop, corpus=corpus)
    is_unknown = np.array([not corpus.frequencies[term] for term in terms], dtype=np.bool_)
    return float(weights[is_unknown].sum() / weights.sum()) if weights.any() else 0.0


def norms(lengths: npt.NDArray[Any], *, corpus: Corpus) -> npt.NDArray[np.float64]:
    """Return for chunks of so many body terms how fast their terms saturate."""
    scaled: npt.NDArray[np.float64] = K1 * (1 - B + B * lengths / (corpus.mean_length or 1.0))
    return scaled


def saturated(
    frequencies: npt.NDArray[Any], norms: npt.NDArray[np.floating]
) -> npt.NDArray[np.floating]:
    """Return what weighted frequencies of a term count for, below MOST."""
    raised: npt.NDArray[np.floating] = frequencies * MOST / (frequencies + norms)
    return raised
