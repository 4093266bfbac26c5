"""Chooses the provider that answers, and embeds the question.

While a store changes its model, the space that was complete before serves, if its model still
answers; otherwise whatever the new one has.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.ingest.spaces import held_space
from recollect.providers.base import READS_ENOUGH, word_reader
from recollect.records import dataclass
from recollect.search.interpret import term_question
from recollect.stores.base import SpaceVectors, published_in
from recollect.types import Degradation, Leg, Role

if TYPE_CHECKING:
    from recollect.providers.base import Provider, QuestionWords
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store
    from recollect.types import Background, Fingerprint, Query, Vectors

NOT_READ = Degradation(
    reason="The embedding model does not support this writing system.",
    action="Nothing is broken: ask with words that occur in the notes, or remove the setting that "
    "names the model: the default models read about a hundred languages.",
)


@dataclass(frozen=True, slots=True)
class StoredSpaces:
    """The spaces that a store has vectors in."""

    published: Fingerprint | None = None
    """Published space: complete, and used by searches."""
    held: Fingerprint | None = None
    """Published space, or else one that a run began to fill."""

    @classmethod
    def of(cls, store: Store, *, chain: Chain) -> StoredSpaces:
        """Look them up, all as of one moment if one is published."""
        spaces = store.spaces()
        published = published_in(spaces)
        held = held_space(store, chain=chain) if published is None else published
        return cls(published, held)


@dataclass(frozen=True, slots=True)
class Serving:
    """The provider to ask, and what the user should know about it."""

    provider: Provider | None
    degradation: Degradation | None = None
    """Why the wanted provider does not serve."""
    filling: Fingerprint | None = None
    """The space that is being filled to replace the published one."""
    second: Provider | None = None
    """The provider to ask if the first one does not answer."""

    @property
    def meanwhile(self) -> str:
        """Return whose vectors answer until the new space is complete."""
        model = self.provider.fingerprint.model if self.provider else None
        return f"Meanwhile the vectors of {model} answer."


def choose_provider(spaces: StoredSpaces, *, chain: Chain) -> Serving:
    """Return the provider and space that answer now. May wait for a model, but uses no store."""
    choice = chain.choose(spaces.held, retry=False)
    wanted, published = choice.provider, spaces.published
    why = choice.degradation
    if published is None or (wanted is None and why is None):
        return Serving(wanted, why)
    if wanted is not None and wanted.fingerprint == published:
        return Serving(wanted)
    filling = wanted.fingerprint if wanted is not None else None
    previous = chain.previous(published)
    if isinstance(previous, Degradation):
        return Serving(wanted, why, filling)
    if wanted is None and why is not None:
        serving = Serving(previous)
        reason = f"{why.reason} {serving.meanwhile}"
        return replace(serving, degradation=replace(why, reason=reason))
    return Serving(previous, filling=filling, second=wanted)


@dataclass(frozen=True, slots=True)
class AskedVectors:
    """A question as vectors of one space, or why there are none."""

    provider: Provider
    vectors: Vectors | None = None
    """Vectors of the question (or the HyDE answer) and of its rewordings; None without any."""
    words: QuestionWords | None = None
    """The question word by word, if the model reads it so."""
    degradation: Degradation | None = None
    took_ms: float = 0.0
    background: Background | None = None
    """Background of such questions, if it is not that of the space."""

    @property
    def space(self) -> Fingerprint:
        """Return the space that the vectors are compared in."""
        return self.provider.fingerprint

    @property
    def in_space(self) -> SpaceVectors | None:
        """Return the vectors with their space."""
        return None if self.vectors is None else SpaceVectors(self.space, self.vectors)


def embed_question(query: Query, provider: Provider) -> AskedVectors:
    """Embed a question in the space of one provider."""
    # A query without a letter or digit means nothing: its vector would find noise.
    if Leg.VECTOR not in query.legs or not term_question(query.text).terms:
        return AskedVectors(provider)
    if provider.reads(query.text) < READS_ENOUGH:
        return AskedVectors(provider, degradation=NOT_READ)
    reworded = [text for text in query.rewordings if provider.reads(text) >= READS_ENOUGH]
    started = time.perf_counter()
    try:
        asked = _embed_wordings(query, reworded, provider)
    except ProviderError as error:
        return AskedVectors(provider, degradation=Degradation(error.message, error.action))
    return replace(asked, took_ms=(time.perf_counter() - started) * 1000)


def _embed_wordings(query: Query, reworded: list[str], provider: Provider) -> AskedVectors:
    reader = word_reader(provider)
    if reader is None:
        texts = [query.imagined or query.text, *reworded]
        return AskedVectors(provider, provider.embed(texts, role=Role.QUERY))
    own = reader.embed_question(query.text)
    imagined = [query.imagined] if query.imagined else []
    others = provider.embed([*imagined, *reworded], role=Role.QUERY)
    vectors = others if imagined else np.vstack([own.vector, others])
    return AskedVectors(provider, vectors, own.words, background=own.background)
