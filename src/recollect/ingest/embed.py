"""Giving vectors to chunks that have none, a batch at a time.

Each batch is stored as soon as it is embedded: whatever kills the process, no text that was
embedded has to be embedded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.types import Degradation, Role, Step

if TYPE_CHECKING:
    from recollect.providers.base import Provider
    from recollect.stores.base import Store
    from recollect.types import Progress

_PAGE = 1024  # texts asked of the store at once
_BATCH = 32  # texts lost at most when the process is killed


def embed_missing(
    store: Store, *, provider: Provider, pending: int, progress: Progress
) -> tuple[int, Degradation | None]:
    """Embed every text that has no vector in the provider's space.

    Returns how many, and why it ended early: a provider that gives up is a value, and what it
    embedded before is kept.
    """
    fingerprint = provider.fingerprint
    done = 0
    while page := store.missing(fingerprint, limit=_PAGE):
        for start in range(0, len(page), _BATCH):
            batch = page[start : start + _BATCH]
            progress(Step("embed", done, max(pending, done + len(batch))))
            try:
                vectors = provider.embed([missing.text for missing in batch], role=Role.DOCUMENT)
            except ProviderError as error:
                return done, Degradation(error.message, error.action)
            store.put_vectors(
                fingerprint, digests=[missing.digest for missing in batch], vectors=vectors
            )
            done += len(batch)
    if done:
        progress(Step("embed", done, done))
    return done, None
