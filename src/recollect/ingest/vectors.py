"""Vectors of one space: stored in the agent's store, shared through the home's cache."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from recollect.errors import StoreError
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from recollect.reports import CacheStatus
    from recollect.stores.base import Store
    from recollect.stores.cache import VectorCache
    from recollect.types import Background, Fingerprint, Vector, Vectors

Answer = TypeVar("Answer")


@dataclass(slots=True)
class CachedVectors:
    """Where the vectors of one space are looked up first, and stored.

    A cache that fails costs a second embedding some day, not the run: it is left out and reported.
    """

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
