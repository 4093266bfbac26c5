"""Question ─▶ pools: what each leg proposes, in the first reading of the question that finds any.

A reading changes the question by what was proposed so far: it drops quotes around phrases that
occur nowhere, takes the spelling that memory knows, or looks up single characters. The pools
remember the reading that answered.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.interpret import character_question
from recollect.search.respell import respell
from recollect.search.scores import KEYWORD, VECTOR
from recollect.stores.base import SpaceTexts, VectorPool
from recollect.stores.bm25 import unknown_share
from recollect.types import Degradation, Mode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.search.embed import AskedVectors
    from recollect.search.interpret import Question
    from recollect.stores.base import KeywordPool, Near, Store
    from recollect.text.date_words import Window
    from recollect.types import Background, ChunkKey, Fingerprint, Vectors

_DATED = 50  # chunks that a leg may propose from the days a question names
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
UNEMBEDDED = (_NO_VECTORS, _NOT_MEASURED)
"""What the next sync mends."""
UNUSABLE = (_OTHER_LENGTH, *UNEMBEDDED)
"""Why there is no vector leg although the provider answers."""


@dataclass(frozen=True, slots=True)
class NearPool:
    """What the vector leg proposed."""

    asked: AskedVectors
    vectors: Vectors
    pool: VectorPool
    background: Background
    """The distribution of cosines of unrelated texts with such questions."""


@dataclass(frozen=True, slots=True)
class Pools:
    """What each leg proposed, for which reading of the question, and why a leg did not run."""

    question: Question
    keyword: KeywordPool
    unknown: float
    """The share of the question's information in words that occur nowhere, as it was written."""
    near: NearPool | None = None
    fingerprint: Fingerprint | None = None
    degraded: Mapping[str, Degradation] = field(default_factory=dict)
    dated: tuple[ChunkKey, ...] = ()
    """Chunks of the days the question names."""

    @property
    def mode(self) -> Mode:
        """Return which legs answered."""
        if self.near is None:
            return Mode.KEYWORD
        return Mode.HYBRID if self.keyword.keys else Mode.VECTOR

    @property
    def keys(self) -> list[ChunkKey]:
        """Return the union of all proposals, in a fixed order; a date alone proposes nothing."""
        proposed = set(self.keyword.keys).union(self.near.pool.keys if self.near else ())
        return sorted(proposed.union(self.dated)) if proposed else []

    def wanting(self, max_results: int) -> Pools:
        """Return the pools of a question that wants so many hits."""
        query = replace(self.question.query, max_results=max_results)
        return replace(self, question=replace(self.question, query=query))


def propose(question: Question, *, store: Store, asked: AskedVectors | None, limit: int) -> Pools:
    """Let the legs propose chunks for the question as it was asked, then for other readings."""
    pools = retrieve(question, store=store, asked=asked, limit=limit)
    for read_again in _READINGS:
        other = read_again(pools, store)
        if other is None:
            continue
        if other.query is not pools.question.query:
            pools = retrieve(other, store=store, asked=asked, limit=limit)
        else:
            pools = _with_other_words(pools, other, store=store, limit=limit)
    return pools if pools.question.days is None else _with_dated(pools, store=store)


def retrieve(question: Question, *, store: Store, asked: AskedVectors | None, limit: int) -> Pools:
    """Get the best chunks of each leg."""
    query, words = question.query, question.words
    asked = asked if VECTOR in query.legs else None
    found = store.propose(
        words.terms,
        asked=asked.in_space if asked else None,
        scope=query.scope,
        limit=limit,
        stop=words.stop,
    )
    corpus = found.keyword.corpus
    keyword = found.keyword if KEYWORD in query.legs else replace(found.keyword, keys=())
    pools = Pools(question, keyword, unknown_share(words.terms, stop=words.stop, corpus=corpus))
    if asked is None:
        return pools
    pools = replace(pools, fingerprint=asked.space)
    near = _nearest(asked, near=found.near, store=store, limit=limit) if corpus.chunks else None
    if isinstance(near, Degradation):
        return replace(pools, degraded={VECTOR: near})
    return replace(pools, near=near)


def _nearest(
    asked: AskedVectors, *, near: Near | None, store: Store, limit: int
) -> NearPool | Degradation | None:
    """Return what a space proposed, or why it proposed nothing, if anything is wrong."""
    if asked.vectors is None or near is None:
        return asked.degradation
    if not near.is_comparable:
        return _OTHER_LENGTH
    pool = _best_of(near.pools, limit=limit)
    if not pool.keys:
        coverage = store.coverage(SpaceTexts(asked.space, media=True))
        return _NO_VECTORS if coverage.pending == coverage.chunks else None
    background = asked.background or (near.space.background if near.space else None)
    background = background or asked.provider.background
    if background is None:
        return _NOT_MEASURED
    return NearPool(asked, asked.vectors, pool, background)


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


def _without_absent_phrases(pools: Pools, store: Store) -> Question | None:
    """If nothing was found, require only the phrases that occur somewhere."""
    scope = pools.question.query.scope
    if pools.keys or not scope.phrases:
        return None
    absent = tuple(
        each for each in scope.phrases if not store.holds(replace(scope, phrases=(each,)))
    )
    return pools.question.without(absent) if absent else None


def _in_known_spelling(pools: Pools, store: Store) -> Question | None:
    """Replace misspelled words by those that memory knows."""
    question, query = pools.question, pools.question.query
    if KEYWORD not in query.legs:
        return None

    def look_up(words: Sequence[str]) -> Mapping[str, int]:
        found = store.propose(words, asked=None, scope=query.scope, limit=1)
        return found.keyword.corpus.frequencies

    known = pools.keyword.corpus.frequencies
    words, spelled = respell(query.text, question.words, frequencies=known, look_up=look_up)
    return replace(question, words=words, spelled=spelled) if spelled else None


def _by_characters(pools: Pools, store: Store) -> Question | None:
    """If nothing was found, look for single characters."""
    del store
    if pools.keys:
        return None
    characters = character_question(pools.question.query.text)
    return replace(pools.question, words=characters) if characters.terms else None


_READINGS = (_without_absent_phrases, _in_known_spelling, _by_characters)


def _with_other_words(pools: Pools, question: Question, *, store: Store, limit: int) -> Pools:
    """Ask the keyword leg again; vectors do not depend on spelling."""
    if KEYWORD not in question.query.legs:
        return replace(pools, question=question)
    found = retrieve(question, store=store, asked=None, limit=limit)
    return replace(pools, question=question, keyword=found.keyword)


def _with_dated(pools: Pools, *, store: Store) -> Pools:
    """Add the best chunks of the days the question names, however low they rank.

    If nothing is dated in the likelier window, the question means the alternative one.
    """
    for days in (pools.question.days, pools.question.days and pools.question.days.otherwise):
        if days is not None and (dated := _dated(pools, days, store=store)):
            return replace(pools, question=replace(pools.question, days=days), dated=dated)
    return pools


def _dated(pools: Pools, days: Window, *, store: Store) -> tuple[ChunkKey, ...]:
    words = pools.question.words
    scope = replace(
        pools.question.query.scope, since=days.first, before=days.end + timedelta(days=1)
    )
    asked = pools.near.asked.in_space if pools.near else None
    found = store.propose(words.terms, asked=asked, scope=scope, limit=_DATED, stop=words.stop)
    near = _best_of(found.near.pools, limit=_DATED).keys if found.near else ()
    return (*found.keyword.keys, *near)
