"""Bringing a store's vectors up to date, and publishing a space when all of it is there."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.batches import embed_by_batch
from recollect.ingest.embed import Embedded, embed_missing
from recollect.ingest.vector_cache import Keep
from recollect.providers.base import OffersBatches
from recollect.types import Degradation

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from recollect.providers.base import BatchApi, Provider
    from recollect.stores.base import Store, VectorCache
    from recollect.types import Fingerprint, Progress


_BIG_RUN = 500  # texts: below it an answer now is worth more than half the price
_POLL_SECONDS = 30.0


def give_vectors(  # noqa: PLR0913 - the parts that meet here
    store: Store,
    *,
    provider: Provider,
    cache: VectorCache | None,
    wants_batches: bool,
    pending: int,
    most: int | None,
    media_root: Path | None,
    deadline: float | None,
    today: date,
    progress: Progress,
) -> tuple[Embedded, tuple[str, ...]]:
    """Embed what is missing in the provider's space; return what was done and what to say.

    When nothing is missing any more, searches are served from this space from then on: in one
    step, and not before, so that a change of model never leaves a search with half an index.
    """
    fingerprint = provider.fingerprint
    keep = Keep(store, fingerprint, cache=cache, today=today)
    try:
        # A search that embeds a few texts in a hurry does not wait for two more requests.
        if most is None or deadline is None:
            keep.measure(provider)
    except ProviderError as error:
        return Embedded(degradation=Degradation(error.message, error.action)), ()
    embedded = Embedded()
    owed = _owed(store, fingerprint)
    is_big = wants_batches and most is None and pending - len(owed) >= _BIG_RUN
    batches = _batches(provider) if is_big or owed else None
    if batches is not None:
        embedded = embed_by_batch(
            store,
            fingerprint=fingerprint,
            batches=batches,
            keep=keep,
            progress=progress,
            poll_seconds=_POLL_SECONDS,
            # A search does not wait for a batch; it takes what is ready.
            wait=_wait if most is None else _leave,
            collect_only=not is_big,
        )
    under_way = _owed(store, fingerprint)
    direct = embed_missing(
        store,
        provider=provider,
        keep=keep,
        pending=pending,
        progress=progress,
        most=most,
        deadline=deadline,
        # An index run asks for everything again; a search does not repeat what was refused.
        left_alone=under_way if most is None else under_way | store.refused(fingerprint),
        media_root=media_root,
        is_owed=bool(under_way),
    )
    if most is None and direct.is_complete:
        store.put_refused(fingerprint, direct.refused)
    embedded = replace(
        direct,
        done=direct.done + embedded.done,
        reused=direct.reused + embedded.reused,
        degradation=direct.degradation or (embedded.degradation if under_way else None),
    )
    former = store.published()
    if embedded.is_complete and former != fingerprint:
        store.publish(fingerprint)
    kept = {fingerprint} if embedded.is_complete or former is None else {fingerprint, former}
    store.prune(keep=kept)
    keep.trim()
    notices = (f"The embedding cache was left out: {keep.trouble.message}",) if keep.trouble else ()
    return embedded, notices


def _batches(provider: Provider) -> BatchApi | None:
    return provider.batches() if isinstance(provider, OffersBatches) else None


def _owed(store: Store, fingerprint: Fingerprint) -> frozenset[str]:
    """Return the digests of texts that batches are to bring."""
    return frozenset().union(*store.batches(fingerprint).values())


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return True


def _leave(seconds: float) -> bool:
    del seconds
    return False
