"""Fills the vector space of a store, and publishes it once it is complete.

A new model fills its own space, which takes the place of the published one in one step: a change of
model never leaves a search with half an index. What the provider refuses is remembered.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.spaces import CachedVectors, held_space, space_of
from recollect.records import dataclass
from recollect.reports import Embedded
from recollect.stores import notes
from recollect.stores.base import published_in
from recollect.types import Degradation, Leg

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from pathlib import Path

    from recollect.ingest.spaces import Budget, VectorSpace
    from recollect.providers.chain import Chain, Choice
    from recollect.reports import Report
    from recollect.stores.base import Coverage, Store
    from recollect.stores.cache import VectorCache
    from recollect.types import Fingerprint, Progress

_UNREAD = (
    "The model does not read the script of some texts ({count}); keywords find them. To find them "
    "by meaning as well, remove the setting that names the model and run `recollect index`: the "
    "default models read about a hundred languages."
)
_BIG_RUN = 500  # texts; below it an answer now is worth more than half the price
_LOOKED_AT = 1000  # texts that every search may read to see whether new ones wait


@dataclass(frozen=True, slots=True)
class Embedder:
    """Embeds the texts of one store with the provider that the chain chooses."""

    store: Store
    chain: Chain
    cache: VectorCache | None
    """Vectors that all agents of a home share."""
    media_roots: tuple[Path, ...]
    """Where the paths of media files start; empty leaves media files alone."""
    uses_batches: bool
    """Whether big runs go through the vendor's Batch API."""
    today: Callable[[], date]

    def embed_pending(
        self, report: Report, budget: Budget, *, may_embed: Callable[[], bool], progress: Progress
    ) -> Report:
        """Embed what is missing in the chosen space, once `may_embed` agrees, and report it."""
        held = held_space(self.store, chain=self.chain)
        space = space_of(self.chain, held, media_roots=self.media_roots)
        coverage = self._coverage(space)
        is_due = budget.retries or self._is_due(space, coverage)
        embedded = Embedded()
        if is_due and budget.texts != 0 and may_embed():
            choice = self.chain.choose(held, retry=budget.retries, texts=coverage.chunks)
            embedded = Embedded(degradation=choice.degradation)
            # The chain may have chosen another provider than expected: it has its own texts.
            space = space_of(self.chain, held, media_roots=self.media_roots)
            if choice.provider is not None and space is not None and coverage.chunks:
                embedded = self._fill(space, budget.begun(), progress)
                embedded = _explained(embedded, choice)
                coverage = self._coverage(space)
        return self._reported(report, space, embedded, coverage)

    def _coverage(self, space: VectorSpace | None) -> Coverage:
        return self.store.coverage(space.texts if space else None)

    def _is_due(self, space: VectorSpace | None, coverage: Coverage) -> bool:
        """Return whether a text has no vector that the provider did not refuse already."""
        fingerprint = space.fingerprint if space else None
        if coverage.chunks and published_in(self.store.spaces()) != fingerprint:
            return True
        refused = notes.refused(self.store, fingerprint) if fingerprint else frozenset()
        if space is None or coverage.pending > len(refused):
            return coverage.pending > 0
        # Refused texts may be gone, and as many new ones wait in their place.
        limit = min(coverage.pending, _LOOKED_AT)
        missing = self.store.missing(space.texts, limit=limit)
        return any(each.digest not in refused for each in missing)

    def _reported(
        self, report: Report, space: VectorSpace | None, embedded: Embedded, coverage: Coverage
    ) -> Report:
        why = embedded.degradation
        return replace(
            report,
            chunks=coverage.chunks,
            embedded=embedded.done,
            reused=embedded.reused,
            tokens=embedded.tokens,
            # Without even a known space, no chunk has a vector in it.
            pending=coverage.chunks if why and space is None else coverage.pending,
            refused=len(notes.refused(self.store, space.fingerprint)) if space else 0,
            degraded={Leg.VECTOR: why} if why else None,
            notices=(*report.notices, *embedded.notices),
        )

    def _fill(self, space: VectorSpace, budget: Budget, progress: Progress) -> Embedded:
        """Embed the texts that have no vector in a space, and publish it once it is complete."""
        from recollect.ingest.embed import (  # noqa: PLC0415 - not for a search
            embed_missing,
            measure_background,
        )

        store, fingerprint = self.store, space.fingerprint
        vectors = CachedVectors(store, fingerprint, self.cache, self.today())
        try:
            is_measured = measure_background(
                space.provider, vectors=vectors, deadline=budget.deadline
            )
        except ProviderError as error:
            return Embedded(degradation=Degradation(error.message, error.action))
        if not is_measured:  # without it, no search can use the vectors
            return Embedded()
        pending = self._coverage(space).pending
        batched = self._collect(space, pending, vectors, budget, progress)
        awaited = self._awaited(fingerprint)
        known = notes.refused(store, fingerprint)
        # An index run asks for everything again; a search does not repeat what was refused.
        skipped = frozenset() if budget.is_whole else known
        direct = embed_missing(
            store,
            space,
            vectors=vectors,
            pending=pending,
            progress=progress,
            budget=budget,
            skipped=awaited | skipped,
            is_awaiting_more=bool(awaited),
        )
        refused = skipped.union(direct.refused, direct.unread)
        if budget.is_whole and direct.is_complete and refused != known:
            notes.put_refused(store, fingerprint, refused)
        vectors.trim()
        self._publish(fingerprint, is_complete=direct.is_complete)
        return replace(
            direct,
            done=direct.done + batched.done,
            reused=direct.reused + batched.reused,
            degradation=direct.degradation or (batched.degradation if awaited else None),
            notices=(vectors.notice,) if vectors.notice else (),
        )

    def _collect(
        self,
        space: VectorSpace,
        pending: int,
        vectors: CachedVectors,
        budget: Budget,
        progress: Progress,
    ) -> Embedded:
        """Collect batches of earlier runs, and submit new ones if the run is big."""
        awaited = self._awaited(space.fingerprint)
        is_big = self.uses_batches and budget.is_whole and pending - len(awaited) >= _BIG_RUN
        if not (is_big or awaited):
            return Embedded()
        from recollect.ingest.batches import batch_api, embed_by_batch  # noqa: PLC0415 - rarely used

        batches = batch_api(space.provider)
        if batches is None:
            return Embedded()
        return embed_by_batch(
            self.store,
            fingerprint=space.fingerprint,
            batches=batches,
            vectors=vectors,
            progress=progress,
            # A search does not wait for a batch; it collects what is ready.
            wait=_wait if budget.is_whole else lambda _: False,
            collect_only=not is_big,
        )

    def _publish(self, fingerprint: Fingerprint, *, is_complete: bool) -> None:
        """Serve searches from a space that is complete, and drop the others."""
        previous = published_in(self.store.spaces())
        if is_complete and previous != fingerprint:
            self.store.publish(fingerprint)
        keep = {fingerprint} if is_complete or previous is None else {fingerprint, previous}
        self.store.prune(keep=keep)

    def _awaited(self, fingerprint: Fingerprint) -> frozenset[str]:
        """Return the digests of texts whose vectors a batch will bring."""
        return frozenset().union(*notes.batches(self.store, fingerprint).values())


def _explained(embedded: Embedded, choice: Choice) -> Embedded:
    """Return the same with what the user should know of the choice and of unread texts."""
    why = choice.with_switch(embedded.degradation) if embedded.degradation else None
    unread = _UNREAD.format(count=len(embedded.unread)) if embedded.unread else None
    notices = (choice.notice, *embedded.notices, unread)
    return replace(embedded, degradation=why, notices=tuple(each for each in notices if each))


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return True
