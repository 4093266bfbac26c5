"""The retrieval legs: what each proposes, how it fared, and its score of the whole union."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError, StoreCorruptError, TermsCorruptError
from recollect.providers.base import READS_ENOUGH, word_reader
from recollect.records import dataclass
from recollect.search.fuse.base import DATE, KEYWORD, VECTOR, LegScores
from recollect.search.fuse.calibrated import calibrated
from recollect.search.options import FusionOptions
from recollect.search.question import term_question
from recollect.stores.base import VectorPool
from recollect.stores.bm25 import bm25
from recollect.stores.vectors import dots
from recollect.text.terms import terms
from recollect.types import Degradation, Leg, Mode, Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from recollect.providers.base import Provider, QuestionWords
    from recollect.stores.base import Corpus, KeywordPool, Loaded, Near, Store
    from recollect.text.date_words import Window
    from recollect.text.terms import QueryTerms
    from recollect.types import Background, ChunkKey, Fingerprint, Query, Vectors

_DATED = 50  # chunks that a leg may propose from the days a question names
_AGREEING = 2  # nearest wordings of a question that count: docs/decisions/ranking.md
NOT_READ = Degradation(
    reason="The embedding model does not support this writing system.",
    action="Nothing is broken: ask with words that occur in the notes, or set "
    'provider = "multilingual" for a model that reads about a hundred languages.',
)
_NOT_MEASURED = Degradation(
    reason="The background of this model's vector space has not been measured yet.",
    action="Run `recollect index` while the provider can be reached.",
)
_OTHER_LENGTH = Degradation(
    reason="The model returns vectors of another length than those of this index.",
    action="The server runs another model under the same name: set `dimensions` or another "
    "`model`, then run `recollect index`.",
)
_NO_VECTORS = Degradation(
    reason="No text of this index has a vector yet.",
    action="Run `recollect index` to embed the chunks.",
)
WORKING = (NOT_READ, _OTHER_LENGTH, _NO_VECTORS, _NOT_MEASURED)
"""Why there is no vector leg although the provider works."""
UNEMBEDDED = (_NO_VECTORS, _NOT_MEASURED)
"""What the next sync mends."""


@dataclass(frozen=True, slots=True)
class Pools:
    """What each leg proposed, and why a leg did not run."""

    keyword: KeywordPool
    vector: VectorPool | None
    query_vectors: Vectors | None
    """Vectors of the question (or the HyDE answer) and of its rewordings."""
    fingerprint: Fingerprint | None
    degraded: Mapping[str, Degradation]
    background: Background | None = None
    """The distribution of cosines of unrelated texts in this space."""
    dated: tuple[ChunkKey, ...] = ()
    """Chunks of the days the question names."""
    supplement: Pools | None = None
    """What the space of the other texts proposed."""

    @property
    def mode(self) -> Mode:
        """Return which legs answered."""
        if self.vector is None:
            return Mode.KEYWORD
        return Mode.HYBRID if self.keyword.keys else Mode.VECTOR

    @property
    def keys(self) -> list[ChunkKey]:
        """Return the union of all proposals, in a fixed order."""
        proposed = {*self.keyword.keys, *self.dated}
        for pools in (self, self.supplement):
            if pools is not None and pools.vector is not None:
                proposed.update(pools.vector.keys)
        return sorted(proposed)


@dataclass(frozen=True, slots=True)
class AskedVectors:
    """A question as vectors of one provider, or why there are none."""

    provider: Provider
    vectors: Vectors | None = None
    """Vectors of the question; None if the provider was not asked or did not answer."""
    words: QuestionWords | None = None
    """The question word by word, if the model reads it so."""
    degradation: Degradation | None = None
    took_ms: float = 0.0
    supplement: AskedVectors | None = None
    """The question in the space of the texts that this provider did not embed."""
    background_across: Background | None = None
    """Background of cosines between two languages, for a supplement."""


def embed_question(query: Query, provider: Provider) -> AskedVectors:
    """Embed a question. This waits for the provider and for nothing else: no store is used."""
    # A query without a letter or digit means nothing: its vector would find noise.
    if VECTOR not in query.legs or not term_question(query.text).terms:
        return AskedVectors(provider)
    if provider.reads(query.text) < READS_ENOUGH:
        return AskedVectors(provider, degradation=NOT_READ)
    reworded = [text for text in query.rewordings if provider.reads(text) >= READS_ENOUGH]
    started = time.perf_counter()
    try:
        vectors, words = _embed_wordings(query, reworded, provider)
    except ProviderError as error:
        return AskedVectors(provider, degradation=Degradation(error.message, error.action))
    return AskedVectors(provider, vectors, words, took_ms=(time.perf_counter() - started) * 1000)


def _embed_wordings(
    query: Query, reworded: list[str], provider: Provider
) -> tuple[Vectors, QuestionWords | None]:
    reader = word_reader(provider)
    if reader is None:
        texts = [query.imagined or query.text, *reworded]
        return provider.embed(texts, role=Role.QUERY), None
    own, words = reader.embed_question(query.text)
    imagined = [query.imagined] if query.imagined else []
    others = provider.embed([*imagined, *reworded], role=Role.QUERY)
    return (others if imagined else np.vstack([own, others])), words


def retrieve(
    query: Query, *, question: QueryTerms, store: Store, asked: AskedVectors | None, pool: int
) -> Pools:
    """Get the best chunks of both legs."""
    vectors = _vectors_by_space(asked) if VECTOR in query.legs else {}
    proposals = store.propose(
        question.terms, vectors=vectors, scope=query.scope, limit=pool, stop=question.stop
    )
    keyword = proposals.keyword
    if KEYWORD not in query.legs:
        keyword = replace(keyword, keys=())
    if asked is None or VECTOR not in query.legs:
        return Pools(keyword, None, None, None, {})
    if not keyword.corpus.chunks:
        return Pools(keyword, None, None, asked.provider.fingerprint, {})
    return _add_vector_legs(keyword, asked, near=proposals.near, store=store, pool=pool)


def _add_vector_legs(
    keyword: KeywordPool,
    asked: AskedVectors,
    *,
    near: Mapping[Fingerprint, Near],
    store: Store,
    pool: int,
) -> Pools:
    """Return what the keyword leg and each space proposed."""
    pools = Pools(keyword, None, None, asked.provider.fingerprint, {})
    pools = _add_vector_leg(pools, asked, near=near, store=store, pool=pool)
    if asked.supplement is None:
        return pools
    beside = _add_vector_legs(keyword, asked.supplement, near=near, store=store, pool=pool)
    if beside.vector is None:
        return pools
    if asked.vectors is not None:
        # The other space lacks these texts because they are in another language.
        beside = replace(beside, background=asked.supplement.background_across)
    return beside if pools.vector is None else replace(pools, supplement=beside)


def _vectors_by_space(asked: AskedVectors | None) -> dict[Fingerprint, Vectors]:
    """Return the vectors that a question has."""
    found: dict[Fingerprint, Vectors] = {}
    while asked is not None:
        if asked.vectors is not None:
            found[asked.provider.fingerprint] = asked.vectors
        asked = asked.supplement
    return found


def _add_vector_leg(
    pools: Pools,
    asked: AskedVectors,
    *,
    near: Mapping[Fingerprint, Near],
    store: Store,
    pool: int,
) -> Pools:
    provider, query_vectors = asked.provider, asked.vectors
    if query_vectors is None:
        why = asked.degradation
        return pools if why is None else replace(pools, degraded={VECTOR: why})
    proposed = near[provider.fingerprint]
    if not proposed.is_comparable:
        return replace(pools, degraded={VECTOR: _OTHER_LENGTH})
    vector = _best_of(proposed.pools, limit=pool)
    if not vector.keys:
        coverage = store.coverage(provider.fingerprint, media=True)
        has_none = coverage.pending == coverage.chunks
        return replace(pools, degraded={VECTOR: _NO_VECTORS} if has_none else {})
    space = proposed.space
    background = (space.background if space else None) or provider.background
    if background is None:
        return replace(pools, degraded={VECTOR: _NOT_MEASURED})
    return replace(pools, vector=vector, query_vectors=query_vectors, background=background)


def _best_of(pools: Sequence[VectorPool], *, limit: int) -> VectorPool:
    """Return the nearest of several pools, as many as of one."""
    if len(pools) == 1 and len(pools[0].keys) <= limit:
        return pools[0]
    cosines: dict[ChunkKey, float] = {}
    for pool in pools:
        for key, cosine in zip(pool.keys, pool.cosines, strict=True):
            cosines[key] = max(cosine, cosines.get(key, cosine))
    best = sorted(cosines, key=lambda key: (-cosines[key], key))[:limit]
    return VectorPool(tuple(best), tuple(cosines[key] for key in best))


def propose_again(
    pools: Pools, *, query: Query, question: QueryTerms, store: Store, pool: int
) -> Pools:
    """Ask the keyword leg again, with other terms."""
    if KEYWORD not in query.legs:
        return pools
    proposals = store.propose(
        question.terms, vectors={}, scope=query.scope, limit=pool, stop=question.stop
    )
    keyword = proposals.keyword
    beside = pools.supplement
    return replace(pools, keyword=keyword, supplement=beside and replace(beside, keyword=keyword))


def propose_dated(
    pools: Pools, days: Window, *, query: Query, question: QueryTerms, store: Store
) -> tuple[Pools, Window]:
    """Add the best chunks of the days the question names, however low they rank.

    Also return those days. If nothing is dated in the likelier window, the alternative window is
    searched and returned.
    """
    dated = _dated(pools, days, query=query, question=question, store=store)
    if not dated and days.otherwise is not None:
        dated = _dated(pools, days.otherwise, query=query, question=question, store=store)
        days = days.otherwise if dated else days
    return replace(pools, dated=dated), days


def _dated(
    pools: Pools, days: Window, *, query: Query, question: QueryTerms, store: Store
) -> tuple[ChunkKey, ...]:
    scope = replace(query.scope, since=days.first, before=days.end + timedelta(days=1))
    vectors = {
        each.fingerprint: each.query_vectors
        for each in (pools, pools.supplement)
        if each is not None and each.query_vectors is not None and each.fingerprint is not None
    }
    proposals = store.propose(
        question.terms, vectors=vectors, scope=scope, limit=_DATED, stop=question.stop
    )
    keys = proposals.keyword.keys
    for near in proposals.near.values():
        keys += _best_of(near.pools, limit=_DATED).keys
    return keys


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that ranking needs to know about the union of all proposals."""

    question: QueryTerms
    loaded: Loaded
    corpus: Corpus
    legs: Mapping[Leg, LegScores]


def weigh_evidence(  # noqa: PLR0913 - the parts of an answer
    pools: Pools,
    *,
    question: QueryTerms,
    days: Window | None,
    store: Store,
    asked: AskedVectors | None,
    unknown: float = 0.0,
) -> Evidence:
    """Let every leg score the whole union: evidence is looked up, never assumed to be zero.

    Args:
        pools: what was proposed.
        question: the terms that were asked for.
        days: the days that the question names.
        store: that proposed it.
        asked: the question as vectors.
        unknown: the share of its information in words that occur nowhere.

    """
    loaded = store.load(pools.keys, terms=question.terms, fingerprint=pools.fingerprint)
    _require_same_terms(loaded, question=question, corpus=pools.keyword.corpus)
    _require_same_chunks(loaded, pools)
    legs: dict[Leg, LegScores] = {}
    if pools.keyword.keys:
        keyword = bm25(loaded, question=question, corpus=pools.keyword.corpus)
        legs[KEYWORD] = LegScores(
            raw=keyword.raw,
            present=keyword.raw > 0,
            bound=keyword.bound,
            memory_chunks=pools.keyword.corpus.chunks,
            unknown=unknown,
        )
    while asked is not None and asked.provider.fingerprint != pools.fingerprint:
        asked = asked.supplement  # the first one may not read the question
    if asked is not None and pools.vector is not None and pools.query_vectors is not None:
        vector = _weigh_vectors(pools, loaded=loaded, provider=asked.provider, store=store)
        legs[VECTOR] = replace(vector, unknown=unknown)
    if days is not None and legs:
        weights = np.array([days.weight(day) for day in loaded.days], dtype=np.float64)
        legs[DATE] = LegScores(raw=weights, present=weights > 0)
    if asked is not None and VECTOR in legs:
        legs[VECTOR] = _compare_words(
            legs, pools=pools, question=question, loaded=loaded, store=store, asked=asked
        )
    return Evidence(question, loaded, pools.keyword.corpus, legs)


def _weigh_vectors(pools: Pools, *, loaded: Loaded, provider: Provider, store: Store) -> LegScores:
    """Return what the vectors say of the whole union."""
    from recollect.search.nearness import by_document, commonness  # noqa: PLC0415 - with vectors

    cosines, present = _cosines(pools, loaded), loaded.has_vector
    trust = np.array([provider.reads(text) for text in loaded.texts])
    others, background = pools.supplement, pools.background
    if others is not None and others.background is not None and background is not None:
        second = store.load(pools.keys, terms=(), fingerprint=others.fingerprint)
        _require_same_chunks(second, others)
        # On the scale of the first space: equally far from what is unrelated.
        apart = (_cosines(others, second) - others.background.mean) / others.background.deviation
        is_other = second.has_vector & (~present | (trust < READS_ENOUGH))
        cosines = np.where(is_other, background.mean + apart * background.deviation, cosines)
        present, trust = present | is_other, np.where(is_other, 1.0, trust)
    return LegScores(
        raw=cosines,
        present=present,
        background=background,
        trust=trust,
        context=by_document(cosines, present, loaded.paths),
        commonness=commonness(loaded.vectors, loaded.has_vector),
    )


def _cosines(pools: Pools, loaded: Loaded) -> npt.NDArray[np.float64]:
    assert pools.query_vectors is not None  # noqa: S101 - its vectors proposed something
    products = [dots(loaded.vectors, each) for each in pools.query_vectors]
    return _agreed(np.stack(products, axis=1).astype(np.float64))


def _compare_words(  # noqa: PLR0913 - the parts of an answer
    legs: Mapping[Leg, LegScores],
    *,
    pools: Pools,
    question: QueryTerms,
    loaded: Loaded,
    store: Store,
    asked: AskedVectors,
) -> LegScores:
    """Return the vector leg with the words of the best candidates compared, if all have codes.

    Of an index that an earlier version made, some may have none until the next index run. Then no
    words are compared: those that have some would pass the others for nothing.
    """
    leg, reader = legs[VECTOR], word_reader(asked.provider)
    if asked.words is None or reader is None or pools.fingerprint is None:
        return leg
    from recollect.search.words import COMPARED, word_matches, word_weights  # noqa: PLC0415

    promising = np.where(leg.present, calibrated(legs, options=FusionOptions()).scores, -1.0)
    best = np.argsort(-promising, kind="stable")[:COMPARED]
    best = best[loaded.has_vector[best]]
    keys = [loaded.keys[row] for row in best.tolist()]
    codes = store.word_codes(pools.fingerprint, keys=keys)
    if len(codes) < len(keys):
        return leg
    weights = word_weights(asked.words, question=question, corpus=pools.keyword.corpus)
    words = np.full(len(loaded.keys), np.nan)
    words[best] = word_matches(asked.words, weights, [codes[key] for key in keys])
    return replace(leg, words=words, word_background=reader.word_background)


def _require_same_chunks(loaded: Loaded, pools: Pools) -> None:
    """Check that the store has every chunk that a leg proposed, and its vector.

    Raises:
        StoreCorruptError: it has not; all of this happens on one snapshot.

    """
    lost = set(pools.keys).difference(loaded.keys)
    if pools.vector is not None:
        has_vector = loaded.has_vector.tolist()
        embedded = {key for key, has in zip(loaded.keys, has_vector, strict=True) if has}
        lost.update(set(pools.vector.keys).difference(embedded))
    if lost:
        raise StoreCorruptError(
            f"The index is damaged: {len(lost)} of the chunks that were found are not there.",
            action="Run `recollect index`: it sets the file aside and rebuilds from the files.",
        )


def _require_same_terms(loaded: Loaded, *, question: QueryTerms, corpus: Corpus) -> None:
    """Check that the keyword index knows the words of the chunks that others proposed.

    Raises:
        TermsCorruptError: it lost some; without this the vector leg would answer alone, silently.

    """
    for column, term in enumerate(question.terms):
        if corpus.frequencies.get(term, 1):  # of terms that were not asked for nothing is known
            continue
        for row in np.flatnonzero(loaded.counts[:, column].any(axis=1)).tolist():
            # Counts are stored by a hash of the term; the text decides.
            chunk = loaded.chunks[row]
            if term in terms(" ".join((chunk.text, *chunk.heading, chunk.path))):
                raise TermsCorruptError(
                    f"The keyword index does not know {term!r}, which {chunk.path} contains.",
                    action="Run `recollect index --force`: it is rebuilt from the chunks.",
                )


def _agreed(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of each chunk's highest cosines, so that one wording cannot lift it alone."""
    agreed: npt.NDArray[np.float64] = np.sort(cosines, axis=1)[:, -_AGREEING:].mean(axis=1)
    return agreed
