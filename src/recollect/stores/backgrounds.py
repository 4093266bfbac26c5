"""The vector cache of a home as hosted memories use it: what is known of models, and no vector.

Many memories of many owners share the disk of a worker. The vector of a text that was purged, or
whose memory ended, must not stay there, and no memory may profit from what another one holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.stores.base import VectorCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from recollect.reports import CacheStatus
    from recollect.types import Background, Fingerprint, Vector, Vectors


class BackgroundsOnly(VectorCache):
    """Keeps the backgrounds of spaces, which are of models and not of texts."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache

    def get(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], today: date
    ) -> dict[str, Vector]:
        """Return nothing."""
        del fingerprint, digests, today
        return {}

    def words(self, fingerprint: Fingerprint, *, digests: Sequence[str]) -> dict[str, bytes]:
        """Return nothing."""
        del fingerprint, digests
        return {}

    def put(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        today: date,
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Keep nothing."""

    def background(self, fingerprint: Fingerprint) -> Background | None:
        """Return the measured background of a space."""
        return self._cache.background(fingerprint)

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Keep the measured background of a space."""
        self._cache.put_background(fingerprint, background)

    def status(self) -> CacheStatus | None:
        """Return how full the cache is; None if it was never used."""
        return self._cache.status()

    def trim(self) -> int:
        """Do nothing: there are no vectors."""
        return 0

    def prune(self, *, unused_since: date | None) -> int:
        """Delete vectors of other memories that were not used since a day, or all of them."""
        return self._cache.prune(unused_since=unused_since)

    def close(self) -> None:
        """Release the cache."""
        self._cache.close()
