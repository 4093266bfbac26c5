"""The vector space of a memory: who fills it, with which texts, how much now, from which cache."""

from __future__ import annotations

import time
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from recollect.errors import StoreError
from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.stores.base import SpaceTexts, published_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    from recollect.providers.base import Provider
    from recollect.providers.chain import Chain
    from recollect.reports import CacheStatus
    from recollect.stores.base import Store
    from recollect.stores.cache import VectorCache
    from recollect.types import Background, Fingerprint, Vector, Vectors

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one sync does."""

    retries: bool = True
    """Try a provider again that failed a moment ago."""
    texts: int | None = None
    """Embed at most so many texts; None embeds all."""
    read_seconds: float | None = None
    """Stop reading files after so long; None reads all."""
    embed_seconds: float | None = None
    """Stop embedding after so long; None embeds all."""
    deadline: float | None = None
    """The time of the monotonic clock at which embedding stops, once it began."""

    @property
    def is_whole(self) -> bool:
        """Whether all texts may be embedded."""
        return self.texts is None

    def begun(self) -> Budget:
        """Return the same once embedding begins."""
        seconds = self.embed_seconds
        return self if seconds is None else replace(self, deadline=time.monotonic() + seconds)


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """A vector space: who fills it, and which texts belong to it."""

    provider: Provider
    media_roots: tuple[Path, ...] = ()
    """The folders of media files, the workspace first; empty leaves media alone."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space."""
        return self.provider.fingerprint

    @property
    def texts(self) -> SpaceTexts:
        """Return which texts need a vector in it."""
        return SpaceTexts(self.fingerprint, media=bool(self.media_roots))

    def wants(self, text: str) -> bool:
        """Return whether a text belongs to it."""
        return self.provider.reads(text) >= READS_ENOUGH


def space_of(
    chain: Chain, held: Fingerprint | None, *, media_roots: tuple[Path, ...] = ()
) -> VectorSpace | None:
    """Return the space of a memory; nothing is loaded. None without a provider."""
    provider = chain.first(held)
    return VectorSpace(provider, media_roots) if provider else None


def held_space(store: Store, *, chain: Chain) -> Fingerprint | None:
    """Return the space that an index has vectors in; None if it has none that can be used.

    That is the published one, or one that a run began to fill.
    """
    with store.snapshot():
        spaces = store.spaces()
        published = published_in(spaces)
        if published is not None or not store.holds():
            return published
        begun = (each for each in chain.spaces() if each in spaces)
        return next((each for each in begun if store.status(SpaceTexts(each)).vectors), None)


@dataclass(slots=True)
class CachedVectors:
    """Where vectors of one space are looked up first; if it fails, it is left out and reported."""

    store: Store
    fingerprint: Fingerprint
    cache: VectorCache | None
    today: date
    notice: str | None = field(default=None, init=False)
    """Why the cache was left out."""

    def reuse(self, digests: Sequence[str]) -> frozenset[str]:
        """Store the vectors that the cache holds of these texts; return their digests."""

        def look(cache: VectorCache) -> dict[str, tuple[Vector, bytes]]:
            return cache.get(self.fingerprint, digests=digests, today=self.today)

        found = self._asked(look) or {}
        if found:
            self.store.put_vectors(
                self.fingerprint,
                digests=list(found),
                vectors=np.stack([vector for vector, _ in found.values()]),
                words=[codes for _, codes in found.values()],
            )
        return frozenset(found)

    def put(
        self, digests: Sequence[str], vectors: Vectors, words: Sequence[bytes] | None = None
    ) -> None:
        """Store vectors that were just embedded, and word codes if there are some."""
        space = self.fingerprint
        self.store.put_vectors(space, digests=digests, vectors=vectors, words=words)
        self._asked(
            lambda cache: cache.put(
                space, digests=digests, vectors=vectors, today=self.today, words=words
            )
        )

    def background(self) -> Background | None:
        """Return the background that the cache holds."""
        return self._asked(lambda cache: cache.background(self.fingerprint))

    def cache_background(self, background: Background) -> None:
        """Cache a background that was just measured."""
        self._asked(lambda cache: cache.put_background(self.fingerprint, background))

    def trim(self) -> None:
        """Keep the cache within its size limit."""
        self._asked(lambda cache: cache.trim())

    def _asked(self, work: Callable[[VectorCache], Answer]) -> Answer | None:
        """Return what the cache answers; None if there is none, or it fails."""
        if self.cache is None:
            return None
        try:
            return work(self.cache)
        except StoreError as error:
            self.cache = None
            self.notice = f"The embedding cache was left out: {error.message}"
            return None


def cache_status_of(cache: VectorCache | None) -> tuple[CacheStatus | None, tuple[str, ...]]:
    """Return how full a cache is, or a notice of why that cannot be told."""
    try:
        return (None if cache is None else cache.status()), ()
    except StoreError as error:
        return None, (f"The embedding cache cannot be read: {error.message} {error.action}",)
