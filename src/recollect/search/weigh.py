"""Pools ─▶ evidence: every leg scores the whole union of what any leg proposed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import StoreCorruptError
from recollect.providers.base import word_reader
from recollect.records import dataclass
from recollect.search.duplicates import COMPARED as FINALISTS
from recollect.search.scores import (
    DATE,
    KEYWORD,
    VECTOR,
    DateScores,
    KeywordScores,
    VectorScores,
    evidence_of_legs,
)
from recollect.stores.bm25 import bm25
from recollect.stores.vectors import dots
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from recollect.search.interpret import Question
    from recollect.search.propose import NearPool, Pools
    from recollect.search.scores import LegScores
    from recollect.stores.base import Corpus, Loaded, Store
    from recollect.text.terms import QueryTerms
    from recollect.types import ChunkKey, Leg, Vectors

_AGREEING = 2  # nearest wordings of a question that count: docs/decisions/ranking.md


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that ranking needs to know about the union of all proposals."""

    pools: Pools
    loaded: Loaded
    legs: Mapping[Leg, LegScores]

    @property
    def question(self) -> Question:
        """Return the reading of the question that was answered."""
        return self.pools.question

    @property
    def unknown_identifiers(self) -> tuple[str, ...]:
        """Return the identifiers of the question if nothing contains any of them."""
        return self.question.unknown_identifiers(self.pools.keyword.corpus.frequencies)


def weigh(pools: Pools, *, store: Store) -> Evidence:
    """Let every leg score the whole union: evidence is looked up, never assumed to be zero."""
    words, days, corpus = pools.question.words, pools.question.days, pools.keyword.corpus
    loaded = store.load(pools.keys, terms=words.terms, fingerprint=pools.fingerprint)
    _require_same_terms(loaded, question=words, corpus=corpus)
    near = pools.near.pool.keys if pools.near else ()
    _require_same_chunks(loaded, pools.keys, near=near)
    legs: dict[Leg, LegScores] = {}
    if pools.keyword.keys:
        raw, bound = bm25(loaded, question=words, corpus=corpus)
        legs[KEYWORD] = KeywordScores(raw, raw > 0, bound=bound)
    vector = _weigh_vectors(pools.near, loaded=loaded) if pools.near else None
    if vector is not None:
        legs[VECTOR] = vector
    if days is not None and legs:
        weights = np.array([days.weight(each.when) for each in loaded.chunks], dtype=np.float64)
        legs[DATE] = DateScores(weights, weights > 0)
    if vector is not None:
        promising = np.sum(list(evidence_of_legs(legs).values()), axis=0)
        legs[VECTOR] = _compare_words(vector, promising, pools=pools, loaded=loaded, store=store)
    if loaded.ask_texts is not None and legs:
        promising = np.sum(list(evidence_of_legs(legs).values()), axis=0)
        best = np.argsort(-promising, kind="stable")[:FINALISTS]
        loaded.ask_texts([loaded.keys[row] for row in best.tolist()])
    return Evidence(pools, loaded, legs)


def _weigh_vectors(near: NearPool, *, loaded: Loaded) -> VectorScores:
    """Return what the vectors say of the whole union."""
    from recollect.search.nearness import (  # noqa: PLC0415 - with vectors
        by_document,
        commonness,
    )

    products, present = _products(near.vectors, loaded), loaded.has_vector
    texts = loaded.foreign or [each.text for each in loaded.chunks]
    cosines = _agreed(products[:, :-1])
    return VectorScores(
        cosines,
        present,
        background=near.background,
        trust=np.array([near.asked.provider.reads(text) for text in texts]),
        context=by_document(cosines, present, [each.path for each in loaded.chunks]),
        commonness=commonness(products[:, -1], present),
    )


def _products(vectors: Vectors, loaded: Loaded) -> npt.NDArray[np.float64]:
    """Return each chunk's products with the vectors of a question, and last with the mean."""
    if loaded.products is not None:
        return loaded.products
    if not loaded.has_vector.any():
        return np.zeros((len(loaded.keys), len(vectors) + 1))
    mean = loaded.vectors[loaded.has_vector].mean(axis=0)
    products = [dots(loaded.vectors, each) for each in (*vectors, mean)]
    return np.stack(products, axis=1).astype(np.float64)


def _agreed(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of each chunk's highest cosines, so that one wording cannot lift it alone."""
    agreed: npt.NDArray[np.float64] = np.sort(products, axis=1)[:, -_AGREEING:].mean(axis=1)
    return agreed


def _compare_words(
    leg: VectorScores,
    promising: npt.NDArray[np.float64],
    *,
    pools: Pools,
    loaded: Loaded,
    store: Store,
) -> VectorScores:
    """Return the vector leg with the words of the best candidates compared, if they have codes.

    A chunk in a language whose model has no states of words has none: its words count nothing.
    """
    asked = pools.near.asked if pools.near else None
    reader = word_reader(asked.provider) if asked else None
    if asked is None or asked.words is None or reader is None:
        return leg
    from recollect.search.nearness import COMPARED, word_matches, word_weights  # noqa: PLC0415

    best = np.argsort(-np.where(leg.present, promising, -1.0), kind="stable")[:COMPARED]
    best = best[loaded.has_vector[best]]
    keys = [loaded.keys[row] for row in best.tolist()]
    codes = store.word_codes(asked.space, keys=keys)
    if not codes:
        return leg
    coded = np.array([key in codes for key in keys], dtype=np.bool_)
    weights = word_weights(asked.words, question=pools.question.words, corpus=pools.keyword.corpus)
    words = np.full(len(loaded.keys), np.nan)
    words[best[coded]] = word_matches(
        asked.words, weights, [codes[key] for key in keys if key in codes]
    )
    return replace(leg, words=words, word_background=reader.word_background)


def _require_same_chunks(
    loaded: Loaded, keys: Iterable[ChunkKey], *, near: Iterable[ChunkKey]
) -> None:
    """Check that the store has every chunk that a leg proposed, and the vectors of those near."""
    has_vector = loaded.has_vector.tolist()
    embedded = {key for key, has in zip(loaded.keys, has_vector, strict=True) if has}
    lost = set(keys).difference(loaded.keys) | set(near).difference(embedded)
    if lost:
        raise StoreCorruptError(
            f"The index is damaged: {len(lost)} of the chunks that were found are not there.",
            action="Run `recollect index`: it sets the file aside and rebuilds from the files.",
        )


def _require_same_terms(loaded: Loaded, *, question: QueryTerms, corpus: Corpus) -> None:
    """Check that the keyword index knows the words of the chunks that others proposed."""
    for column, term in enumerate(question.terms):
        if corpus.frequencies.get(term, 1):  # of terms that were not asked for nothing is known
            continue
        for row in np.flatnonzero(loaded.counts[:, column].any(axis=1)).tolist():
            # Counts are stored by a hash of the term; the text decides.
            chunk = loaded.chunks[row]
            if term in terms(" ".join((chunk.text, *chunk.heading, chunk.path))):
                raise StoreCorruptError(
                    f"The keyword index does not know {term!r}, which {chunk.path} contains.",
                    action="Run `recollect index`: the file is set aside and rebuilt.",
                )
