"""Where vectors are kept: in the agent's store, and in the home's cache beside it.

A cache that fails costs a second embedding one day, not the run: it is left out and reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import StoreError
from recollect.providers.calibrate import measure_background

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from recollect.providers.base import Provider
    from recollect.stores.base import Store, VectorCache
    from recollect.types import Fingerprint, Vectors


class Keep:
    """Stores vectors of one space in both places, and looks them up in the cache."""

    def __init__(
        self, store: Store, fingerprint: Fingerprint, *, cache: VectorCache | None, today: date
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._cache = cache
        self._today = today
        self.trouble: StoreError | None = None
        """Why the cache was left out."""

    def reuse(self, digests: Sequence[str]) -> frozenset[str]:
        """Store what the cache holds of these texts; return which those are."""
        found = {}
        if self._cache is not None:
            try:
                found = self._cache.get(self._fingerprint, digests=digests, today=self._today)
            except StoreError as error:
                self._give_up_cache(error)
        if found:
            self._store.put_vectors(
                self._fingerprint, digests=list(found), vectors=np.stack(list(found.values()))
            )
        return frozenset(found)

    def store(self, digests: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors just embedded."""
        self._store.put_vectors(self._fingerprint, digests=digests, vectors=vectors)
        if self._cache is not None:
            try:
                self._cache.put(
                    self._fingerprint, digests=digests, vectors=vectors, today=self._today
                )
            except StoreError as error:
                self._give_up_cache(error)

    def measure(self, provider: Provider) -> None:
        """See that the store knows the background of the provider's space.

        Raises:
            ProviderError: it had to be measured and the provider did not answer.

        """
        space = self._store.space(self._fingerprint)
        if space is not None and space.background is not None:
            return
        background = provider.background
        try:
            if background is None and self._cache is not None:
                background = self._cache.background(self._fingerprint)
            if background is None:
                background = measure_background(provider)
                if self._cache is not None:
                    self._cache.put_background(self._fingerprint, background)
        except StoreError as error:
            self._give_up_cache(error)
        self._store.put_background(self._fingerprint, background or measure_background(provider))

    def trim(self) -> None:
        """Keep the cache within its bound."""
        if self._cache is not None:
            try:
                self._cache.trim()
            except StoreError as error:
                self._give_up_cache(error)

    def _give_up_cache(self, error: StoreError) -> None:
        self._cache = None
        self.trouble = error
