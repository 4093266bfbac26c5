"""Files, then vectors: everything one sync does, with what it came to."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.ingest.embed import Embedded
from recollect.ingest.sync import sync
from recollect.ingest.vectors import give_vectors
from recollect.types import Leg, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    from recollect.ingest.source import Source
    from recollect.providers.chain import Chain
    from recollect.reports import Report
    from recollect.stores.base import Store, VectorCache
    from recollect.types import Progress


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """How much one sync is to do."""

    force: bool = False
    """Look at every file again, whatever its stat says."""
    retry: bool = True
    """Try to fetch a missing model even if that failed a moment ago."""
    most: int | None = None
    """Embed so many texts at most; None is all of them."""
    seconds: float | None = None
    """Stop reading files after so long; None reads all."""
    embed_seconds: float | None = None
    """Stop embedding after so long; None embeds all."""
    is_granted: Callable[[], bool] = lambda: True
    """Is asked before anything is changed; if not, files are read and nothing is embedded."""
    progress: Progress = silent


def refresh(  # noqa: PLR0913 - the parts that meet here
    sources: Sequence[Source],
    *,
    store: Store,
    media_root: Path | None,
    chain: Chain,
    cache: VectorCache | None,
    wants_batches: bool,
    today: date,
    options: RefreshOptions,
) -> Report:
    """Bring documents, terms and vectors into agreement with the files.

    Media files are embedded where their paths have a root to begin at.
    """
    started = time.perf_counter()
    takes_media = media_root is not None
    report = sync(
        sources,
        store=store,
        force=options.force,
        progress=options.progress,
        begins=options.is_granted,
        seconds=options.seconds,
    )
    published = store.published()
    wanted = chain.expected(published)
    status = store.status(wanted, media=takes_media)
    embedded = Embedded()
    notices: tuple[str, ...] = ()
    served = wanted
    is_due = options.retry or status.pending or (status.chunks and published != wanted)
    if is_due and options.most != 0 and options.is_granted():
        choice = chain.choose(published, progress=options.progress, retry=options.retry)
        embedded.degradation = choice.degradation
        if choice.provider is not None and status.chunks:
            # Another provider of the chain than the expected one has texts of its own to embed.
            served = choice.provider.fingerprint
            pending = store.status(served, media=takes_media).pending
            embedded, notices = give_vectors(
                store,
                provider=choice.provider,
                cache=cache,
                wants_batches=wants_batches,
                pending=pending,
                most=options.most,
                media_root=media_root,
                deadline=_after(options.embed_seconds),
                today=today,
                progress=options.progress,
            )
            if choice.notice is not None:
                notices = (choice.notice, *notices)
            status = store.status(served, media=takes_media)
    return replace(
        report,
        chunks=status.chunks,
        embedded=embedded.done,
        reused=embedded.reused,
        tokens=embedded.tokens,
        cost=embedded.cost,
        # Where not even a space is known, nothing has a vector in it.
        pending=status.chunks if wanted is None and embedded.degradation else status.pending,
        refused=len(store.refused(served)) if served else 0,
        degraded={Leg.VECTOR: embedded.degradation} if embedded.degradation else None,
        notices=notices,
        took_ms=(time.perf_counter() - started) * 1000,
    )


def _after(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds
