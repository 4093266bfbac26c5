"""Embeds texts through a vendor's Batch API: submit, come back later, collect.

A batch may take a day, longer than a process lives. So each one is stored with its digests as soon
as it is submitted, and the next run goes on from there: it collects what is finished and submits
only texts that are in no batch. What a vendor refuses or loses is a value and never ends the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderBusyError, ProviderError
from recollect.reports import Embedded
from recollect.stores import notes
from recollect.types import Degradation, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.ingest.vectors import CachedVectors
    from recollect.providers.base import BatchApi
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress, Vector

_POLL_SECONDS = 30.0  # before asking again
_PAGE = 1024  # texts fetched from the store at once
_GROUP = 256  # vectors stored in one step
_MOST_UNANSWERED = 2  # batches in a row without an answer: the rest is not asked about
_MOST_SETBACKS = 3  # such rounds in a row: the vendor is gone


def embed_by_batch(  # noqa: PLR0913 - the parts that meet here
    store: Store,
    *,
    fingerprint: Fingerprint,
    batches: BatchApi,
    vectors: CachedVectors,
    progress: Progress,
    wait: Callable[[float], bool],
    collect_only: bool = False,
) -> Embedded:
    """Embed every text that has no vector, through batches of earlier runs and of this one.

    Args:
        store: lists the texts without a vector, and the batches of earlier runs.
        fingerprint: the space of the vectors.
        batches: the vendor's Batch API.
        vectors: where vectors are looked up first, and stored.
        progress: called with each step.
        wait: waits so many seconds; returns False to stop waiting.
        collect_only: submit nothing; only collect the batches of earlier runs.

    """
    run = _BatchRun(store, fingerprint, batches=batches, vectors=vectors, progress=progress)
    run.resume(collect_only=collect_only)
    while run.advance() and wait(_POLL_SECONDS):
        pass
    return run.finished()


class _BatchRun:
    """The batches as one run sees them."""

    def __init__(
        self,
        store: Store,
        fingerprint: Fingerprint,
        *,
        batches: BatchApi,
        vectors: CachedVectors,
        progress: Progress,
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._batches = batches
        self._vectors = vectors
        self._progress = progress
        self._report = Embedded()
        self._running: dict[str, frozenset[str]] = {}
        self._own: set[str] = set()
        """Batches that this run submitted."""
        self._refused: dict[str, str] = {}
        """Texts for which batches of this run returned no vector, and why: not sent again."""
        self._failed: dict[str, str] = {}
        """Texts of batches of this run that failed as a whole."""
        self._done_at_release = 0
        self._is_all_submitted = False
        self._setbacks = 0
        self._trouble: ProviderError | None = None
        """Why the last round got no further."""
        self._end: ProviderError | None = None
        """Why nothing more is submitted."""
        self._total = 0

    def resume(self, *, collect_only: bool) -> None:
        """Take over what earlier runs submitted."""
        self._is_all_submitted = collect_only
        self._running = notes.batches(self._store, self._fingerprint)

    def advance(self) -> bool:
        """Do all that can be done now; return whether there is something to wait for."""
        self._trouble = None
        try:
            self._collect_finished()
        except ProviderError as error:
            return self._set_back(error)
        try:
            self._submit_missing()
        except ProviderBusyError as error:
            # Often too many batches are running: there is room once one of them ends.
            if not self._running:
                return self._set_back(error)
            self._trouble = error
        except ProviderError as error:
            self._end = error
        self._setbacks = 0
        return bool(self._running)

    def finished(self) -> Embedded:
        """Return what was done, and why not more."""
        reasons = []
        action = (
            "Run `recollect index` again later: it collects what is finished and submits nothing "
            "twice."
        )
        error = self._end or self._trouble
        if error is not None:
            reasons.append(error.message)
            action = error.action
        elif not self._running:
            action = (
                "Run `recollect index` again; with remote.batch = false it embeds what is left "
                "directly."
            )
        if lost := self._failed | self._refused:
            why = next(iter(lost.values())).rstrip(".")
            reasons.append(f"{len(lost):,} texts came back without a vector ({why}).")
        if texts := sum(map(len, self._running.values())):
            reasons.append(f"The vendor has not finished {texts:,} texts yet.")
        if reasons:
            self._report.degradation = Degradation(" ".join(reasons), action)
        # The fault may be the text's or the vendor's: neither counts as an answer.
        self._report.is_complete = self._is_all_submitted and not reasons
        return self._report

    def _set_back(self, error: ProviderError) -> bool:
        """Record an error; return whether waiting may help."""
        self._trouble = error
        self._setbacks += 1
        return isinstance(error, ProviderBusyError) and self._setbacks < _MOST_SETBACKS

    def _collect_finished(self) -> None:
        """Visit every batch; one that cannot be fetched does not block the others."""
        running = 0
        unanswered = 0
        for batch, digests in list(self._running.items()):
            try:
                running += self._visit(batch, digests)
                unanswered = 0
            except ProviderBusyError as error:
                self._trouble = error
                unanswered += 1
                if unanswered == _MOST_UNANSWERED:
                    raise
        self._report_progress(running)
        if self._trouble is not None and unanswered == len(self._running):
            raise self._trouble

    def _visit(self, batch: str, digests: frozenset[str]) -> int:
        """Collect a finished batch; of an unfinished one return how many texts are done."""
        state = self._batches.look(batch)
        if not state.is_over:
            return state.done
        if state.failure is None:
            self._collect(batch, digests)
        elif batch in self._own:  # what failed in an earlier run is submitted again
            self._failed.update(dict.fromkeys(digests, state.failure))
        notes.drop_batch(self._store, self._fingerprint, batch)
        del self._running[batch]
        return 0

    def _collect(self, batch: str, digests: frozenset[str]) -> None:
        lost = dict.fromkeys(digests, "no answer came")
        group: dict[str, Vector] = {}
        for digest, outcome in self._batches.collect(batch):
            if digest not in lost:
                continue
            if isinstance(outcome, str):
                lost[digest] = outcome
                continue
            del lost[digest]
            group[digest] = outcome
            if len(group) == _GROUP:
                self._store_vectors(group)
        self._store_vectors(group)
        if batch in self._own:
            self._refused.update(lost)

    def _store_vectors(self, group: dict[str, Vector]) -> None:
        if group:
            self._vectors.put(list(group), np.stack(list(group.values())))
            self._report.done += len(group)
            group.clear()

    def _submit_missing(self) -> None:
        self._release_failed()
        if self._is_all_submitted or self._end is not None:
            return
        for texts in self._packed():
            batch = self._batches.submit(texts)
            notes.put_batch(self._store, self._fingerprint, batch, texts.keys())
            self._own.add(batch)
            self._running[batch] = frozenset(texts)
            self._report_progress(0)
        self._is_all_submitted = True

    def _release_failed(self) -> None:
        """Submit failed batches again once all others are over, if those got further.

        A vendor with a short queue fails the batches that do not fit, but not forever.
        """
        if self._failed and not self._running and self._report.done > self._done_at_release:
            self._failed.clear()
            self._done_at_release = self._report.done
            self._is_all_submitted = False

    def _packed(self) -> Iterator[dict[str, str]]:
        """Yield the texts that are in no batch, as many at once as a batch may hold."""
        taken = frozenset(self._failed).union(self._refused, *self._running.values())
        held: dict[str, str] = {}
        after = 0
        while page := self._store.missing(self._fingerprint, limit=_PAGE, after=after):
            after = page[-1].number
            wanted = [missing for missing in page if missing.digest not in taken]
            known = self._vectors.reuse([missing.digest for missing in wanted])
            self._report.reused += len(known)
            for missing in wanted:
                if missing.digest in known:
                    continue
                held[missing.digest] = missing.text
                if len(held) == self._batches.most_texts:
                    yield held
                    held = {}
        if held:
            yield held

    def _report_progress(self, running: int) -> None:
        done = self._report.done + self._report.reused
        self._total = max(self._total, done + sum(map(len, self._running.values())))
        if self._total:
            self._progress(Step("embed", min(done + running, self._total), self._total))
