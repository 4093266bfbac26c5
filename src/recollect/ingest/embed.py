"""Giving vectors to chunks that have none, a batch at a time.

Each batch is stored as soon as it is embedded: whatever kills the process, no text that was
embedded has to be embedded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.types import Role, Step

if TYPE_CHECKING:
    from recollect.providers.base import Provider
    from recollect.stores.base import Store
    from recollect.types import Progress

_PAGE = 1024  # texts asked of the store at once
_BATCH = 32  # texts lost at most when the process is killed


def embed_missing(store: Store, *, provider: Provider, progress: Progress) -> int:
    """Embed every text that has no vector in the provider's space; return how many.

    Raises:
        ProviderError: the provider gave up; what it embedded before is kept.

    """
    fingerprint = provider.fingerprint
    total = store.status(fingerprint).pending
    done = 0
    while page := store.missing(fingerprint, limit=_PAGE):
        for start in range(0, len(page), _BATCH):
            batch = page[start : start + _BATCH]
            progress(Step("embed", done, max(total, done + len(batch))))
            vectors = provider.embed([missing.text for missing in batch], role=Role.DOCUMENT)
            store.put_vectors(
                fingerprint, digests=[missing.digest for missing in batch], vectors=vectors
            )
            done += len(batch)
    if done:
        progress(Step("embed", done, done))
    return done
