"""Giving vectors to texts by a vendor's Batch API: hand in, come back later, collect.

A batch may take a day, longer than a process lives. So each one is remembered with its digests as
soon as it is handed in, and the next run goes on from there: it collects what is finished and hands
in only what is in no batch. What a vendor refuses or loses is a value, never the end of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderBusyError, ProviderError
from recollect.ingest.embed import Embedded
from recollect.types import Degradation, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.ingest.vector_cache import Keep
    from recollect.providers.base import BatchApi
    from recollect.stores.base import Store
    from recollect.types import Fingerprint, Progress, Vector

_PAGE = 1024  # texts asked of the store at once
_GROUP = 256  # vectors stored in one step
_UNANSWERED = 2  # batches in a row that the vendor did not answer for: no more are asked about
_SETBACKS = 3  # such rounds in a row: the vendor is gone


def embed_by_batch(  # noqa: PLR0913 - what is joined here: texts, vendor, memory and clock
    store: Store,
    *,
    fingerprint: Fingerprint,
    batches: BatchApi,
    keep: Keep,
    progress: Progress,
    poll_seconds: float,
    wait: Callable[[float], bool],
    collect_only: bool = False,
) -> Embedded:
    """Embed every text that has no vector, through batches of earlier runs and of this one.

    Args:
        store: where texts are missing vectors.
        fingerprint: the space of the vectors.
        batches: who embeds.
        keep: where vectors are stored, and looked up first.
        progress: is told how far the work has come.
        poll_seconds: how long to wait before asking again.
        wait: waits so long; False when there is no time to wait any more.
        collect_only: hand nothing in; only take what earlier runs are owed.

    """
    run = _Run(store, fingerprint, batches=batches, keep=keep, progress=progress)
    run.resume(collect_only=collect_only)
    while run.advance() and wait(poll_seconds):
        pass
    return run.finished()


class _Run:
    """One process's time with the batches."""

    def __init__(
        self,
        store: Store,
        fingerprint: Fingerprint,
        *,
        batches: BatchApi,
        keep: Keep,
        progress: Progress,
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._batches = batches
        self._keep = keep
        self._progress = progress
        self._report = Embedded()
        self._under_way: dict[str, frozenset[str]] = {}
        self._own: set[str] = set()
        """Batches that this run handed in."""
        self._refused: dict[str, str] = {}
        """Texts that own batches brought no vector of, and why: not asked for again."""
        self._failed: dict[str, str] = {}
        """Texts of own batches that failed as a whole."""
        self._done_at_release = 0
        self._is_all_handed_in = False
        self._setbacks = 0
        self._trouble: ProviderError | None = None
        """Why the last round got no further."""
        self._end: ProviderError | None = None
        """Why nothing more is handed in."""
        self._total = 0

    def resume(self, *, collect_only: bool) -> None:
        """Take over what earlier runs handed in."""
        self._is_all_handed_in = collect_only
        self._under_way = dict(self._store.batches(self._fingerprint))

    def advance(self) -> bool:
        """Do all that can be done now; tell whether there is something to wait for."""
        self._trouble = None
        try:
            self._collect_finished()
        except ProviderError as error:
            return self._set_back(error)
        try:
            self._hand_in_missing()
        except ProviderBusyError as error:
            # Often too many batches are under way: when one of them ends there is room.
            if not self._under_way:
                return self._set_back(error)
            self._trouble = error
        except ProviderError as error:
            self._end = error
        self._setbacks = 0
        return bool(self._under_way)

    def finished(self) -> Embedded:
        """Return what was done, and why not more."""
        reasons = []
        action = (
            "Run `recollect index` again later: it collects what is finished and hands nothing "
            "in twice."
        )
        error = self._end or self._trouble
        if error is not None:
            reasons.append(error.message)
            action = error.action
        elif not self._under_way:
            action = (
                "Run `recollect index` again; with remote.batch = false it embeds what is left "
                "directly."
            )
        if lost := self._failed | self._refused:
            why = next(iter(lost.values())).rstrip(".")
            reasons.append(f"{len(lost):,} of the texts came back without a vector ({why}).")
        if texts := sum(map(len, self._under_way.values())):
            reasons.append(f"The vendor is not done yet with {texts:,} of the texts.")
        if reasons:
            self._report.degradation = Degradation(" ".join(reasons), action)
        # A line's reason may be the text's fault or the vendor's: neither counts as an answer.
        self._report.is_complete = self._is_all_handed_in and not reasons
        return self._report

    def _set_back(self, error: ProviderError) -> bool:
        """Note an error; tell whether waiting may help."""
        self._trouble = error
        self._setbacks += 1
        return isinstance(error, ProviderBusyError) and self._setbacks < _SETBACKS

    def _collect_finished(self) -> None:
        """Visit every batch; one that cannot be fetched does not stand in the others' way."""
        running = 0
        unanswered = 0
        for batch, digests in list(self._under_way.items()):
            try:
                running += self._visit(batch, digests)
                unanswered = 0
            except ProviderBusyError as error:
                self._trouble = error
                unanswered += 1
                if unanswered == _UNANSWERED:
                    raise
        self._tell_progress(running)
        if self._trouble is not None and unanswered == len(self._under_way):
            raise self._trouble

    def _visit(self, batch: str, digests: frozenset[str]) -> int:
        """Collect a batch that is over; return how far one is that is not."""
        state = self._batches.look(batch)
        if not state.is_over:
            return state.done
        if state.failure is None:
            self._collect(batch, digests)
        elif batch in self._own:  # what failed in an earlier run is handed in again
            self._failed.update(dict.fromkeys(digests, state.failure))
        self._store.drop_batch(self._fingerprint, batch)
        del self._under_way[batch]
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
            self._keep.store(list(group), np.stack(list(group.values())))
            self._report.done += len(group)
            group.clear()

    def _hand_in_missing(self) -> None:
        self._release_failed()
        if self._is_all_handed_in or self._end is not None:
            return
        for texts in self._packed():
            batch = self._batches.submit(texts)
            self._store.put_batch(self._fingerprint, batch, texts.keys())
            self._own.add(batch)
            self._under_way[batch] = frozenset(texts)
            self._tell_progress(0)
        self._is_all_handed_in = True

    def _release_failed(self) -> None:
        """Let failed batches be handed in again once all others are over, if that got further.

        A vendor that lets few tokens queue up fails the batches behind them, not for good.
        """
        if self._failed and not self._under_way and self._report.done > self._done_at_release:
            self._failed.clear()
            self._done_at_release = self._report.done
            self._is_all_handed_in = False

    def _packed(self) -> Iterator[dict[str, str]]:
        """Return the texts that are in no batch, as many at once as a batch may hold."""
        taken = frozenset(self._failed).union(self._refused, *self._under_way.values())
        held: dict[str, str] = {}
        after = ""
        while page := self._store.missing(self._fingerprint, limit=_PAGE, after=after):
            after = page[-1].digest
            wanted = [missing for missing in page if missing.digest not in taken]
            known = self._keep.reuse([missing.digest for missing in wanted])
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

    def _tell_progress(self, running: int) -> None:
        done = self._report.done + self._report.reused
        self._total = max(self._total, done + sum(map(len, self._under_way.values())))
        if self._total:
            self._progress(Step("embed", min(done + running, self._total), self._total))
