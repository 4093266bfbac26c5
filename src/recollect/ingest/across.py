"""Embeds the texts that the main model reads with the second model as well, in a mixed memory.

A question in a script that the main model does not read is embedded by the second model alone, so
it finds only texts with vectors of that model. In a memory of which a tenth is in such scripts, all
texts get such a vector (docs/decisions/vectors.md), in a space that no other question uses. They
are made last: a search never waits for more than a few of them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.stores import notes
from recollect.types import Degradation, Scope

if TYPE_CHECKING:
    from recollect.ingest.vectors import CachedVectors
    from recollect.providers.base import Provider, Supplement
    from recollect.stores.base import Store
    from recollect.types import Progress, Step

MIXED_SHARE = 0.1
"""The share of chunks in other scripts from which a memory is mixed."""
SLICE_SECONDS = 30.0
"""How long an index run embeds for other languages before it looks for changed files again."""
FEW = 8
"""Texts that a search embeds for other languages before it answers: about a second."""


@dataclass(frozen=True, slots=True)
class AcrossSpace:
    """The vectors of one store that questions in other scripts are compared with."""

    store: Store
    supplement: Supplement

    @property
    def provider(self) -> Provider:
        """Return the second model for these texts."""
        return self.supplement.across

    @property
    def is_begun(self) -> bool:
        """Whether it has vectors, or had some."""
        return self.provider.fingerprint in self.store.spaces()

    def is_mixed(self) -> bool:
        """Return whether enough of the memory is in other scripts."""
        others = len(self.store.embedded(self.supplement.fingerprint, scope=Scope()))
        return others > 0 and others >= MIXED_SHARE * self.store.coverage(None).chunks

    def pending(self) -> int:
        """Return how many chunks are waiting for a vector that an index run gives them."""
        return self.waiting() if self.is_begun or self.is_mixed() else 0

    def is_due(self, *, is_hurried: bool) -> bool:
        """Return whether to embed now; a search embeds only a few texts of a memory begun."""
        if is_hurried:
            return self.is_begun and 0 < self.waiting() <= FEW
        return self.pending() > 0

    def waiting(self) -> int:
        """Return how many chunks have no vector that such a question can be compared with."""
        space = self.provider.fingerprint
        pending = self.store.coverage(space, beside=self.supplement.fingerprint).pending
        return max(pending - len(notes.refused(self.store, space)), 0)

    def fill(
        self,
        main: Provider,
        *,
        vectors: CachedVectors,
        deadline: float | None,
        progress: Progress,
    ) -> Degradation | None:
        """Embed what is waiting, a slice of it at most; return why some could not be.

        Args:
            main: texts that it does not read are left alone: the supplement has them.
            vectors: where vectors are looked up first, and stored.
            deadline: a time of the monotonic clock.
            progress: called with each step.

        """
        from recollect.ingest.embed import embed_missing  # noqa: PLC0415 - not for a search

        provider, beside = self.provider, self.supplement.fingerprint
        slice_end = time.monotonic() + SLICE_SECONDS
        refused = notes.refused(self.store, provider.fingerprint)
        waiting = self.waiting()
        try:
            provider.prepare(progress=progress, retry=False)
            vectors.measure_background(provider, deadline=deadline, progress=progress)
        except ProviderError as error:
            return Degradation(error.message, error.action)
        found = embed_missing(
            self.store,
            provider=provider,
            vectors=vectors,
            pending=waiting,
            progress=self._from_all(progress, waiting),
            deadline=slice_end if deadline is None else min(deadline, slice_end),
            skipped=refused,
            beside=beside,
            is_for_it=lambda text: main.reads(text) >= READS_ENOUGH,
        )
        if found.refused or found.left:
            notes.put_refused(
                self.store, provider.fingerprint, refused.union(found.refused, found.left)
            )
        self.store.note_embedded(provider.fingerprint, words=False, beside=beside)
        return found.degradation

    def _from_all(self, progress: Progress, waiting: int) -> Progress:
        """Return a progress that counts what earlier slices did."""
        before = max(self.store.coverage(None).chunks - waiting, 0)

        def told(step: Step) -> None:
            progress(replace(step, done=before + step.done, total=before + step.total))

        return told
