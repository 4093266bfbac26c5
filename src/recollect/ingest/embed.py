"""Giving vectors to texts and media files that have none: from the cache, else from the provider.

Texts of all files are packed together, several requests are under way at once, and each answer is
stored as soon as it is there: whatever ends the run, no text that was embedded has to be embedded
again. A provider that gives up is a value, and what it embedded before is kept.
"""

from __future__ import annotations

import collections
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.ingest.media import load_media
from recollect.ingest.requests import Packer, Parcel, Sizes
from recollect.ingest.worker_pool import Crew
from recollect.providers.base import Charge, EmbedsMedia
from recollect.text.size import estimate_tokens
from recollect.types import Degradation, Role, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recollect.ingest.vector_cache import Keep
    from recollect.providers.base import Provider
    from recollect.stores.base import Missing, Store
    from recollect.types import Progress, Vector, Vectors

_PAGE = 1024  # texts asked of the store at once
_UNANSWERED = 3  # parcels in a row that nobody answered: the server is gone
_REFUSED_AT_ONCE = 3  # texts refused before any was taken: it is not the texts
_LEAST_TOKENS = 128  # a text below this is not refused for its length
_EXCLUDE = "Make such a file smaller or shorter, or name it in the setting `exclude`."
_SMALL = 8  # texts of a parcel where time is short
_GRACE_SECONDS = 5.0  # an interrupted run waits so long for what is paid already


@dataclass(slots=True)
class Embedded:
    """What one run did."""

    done: int = 0
    """Texts embedded by the provider."""
    reused: int = 0
    """Texts whose vector was in the cache."""
    tokens: int = 0
    """Estimated tokens of what was embedded."""
    cost: float | None = None
    """Estimated US dollars; None where nothing is paid or no price is known."""
    degradation: Degradation | None = None
    """Why texts were left without a vector."""
    refused: tuple[str, ...] = ()
    """Digests of texts that the provider does not take."""
    is_complete: bool = False
    """Every text was sent and answered, be it by a refusal of the text itself."""


def embed_missing(  # noqa: PLR0913 - the parts that meet here
    store: Store,
    *,
    provider: Provider,
    keep: Keep,
    pending: int,
    progress: Progress,
    most: int | None = None,
    deadline: float | None = None,
    left_alone: frozenset[str] = frozenset(),
    is_owed: bool = False,
    media_root: Path | None = None,
) -> Embedded:
    """Embed every text that has no vector in the provider's space, then every media file.

    Args:
        store: where texts are missing vectors.
        provider: who embeds.
        keep: where vectors are stored, and looked up first.
        pending: about how many are missing, for the progress.
        progress: is told how far the work has come.
        most: stop after so many texts; None is all of them.
        deadline: a time of the monotonic clock; what is not answered by then is left.
        left_alone: digests of texts not to ask for: refused before, or to come by a batch.
        is_owed: some of those are still to come.
        media_root: where the paths of media files begin; None leaves those alone.

    """
    run = _Run(provider, keep=keep, pending=pending, progress=progress, deadline=deadline)
    texts = _missing(store, run=run, keep=keep, provider=provider, most=most, left_alone=left_alone)
    run.embed(texts, ask=run.ask_texts)
    if media_root is not None and isinstance(provider, EmbedsMedia):
        files = _missing(
            store,
            run=run,
            keep=keep,
            provider=provider,
            most=most,
            left_alone=left_alone,
            media=True,
        )
        run.embed(files, ask=partial(run.ask_media, provider, media_root))
    is_whole = most is None or run.seen < most
    return run.finished(is_whole=is_whole and not is_owed)


def _missing(  # noqa: PLR0913 - as above
    store: Store,
    *,
    run: _Run,
    keep: Keep,
    provider: Provider,
    most: int | None,
    left_alone: frozenset[str],
    media: bool = False,
) -> Iterator[Missing]:
    """Return the texts that nobody embedded before; those in the cache are stored on the way."""
    after = ""
    while most is None or run.seen < most:
        page = store.missing(provider.fingerprint, limit=_PAGE, after=after, media=media)
        if not page:
            return
        after = page[-1].digest
        page = [missing for missing in page if missing.digest not in left_alone]
        if most is not None:
            page = page[: most - run.seen]
        known = keep.reuse([missing.digest for missing in page])
        run.found(page=len(page), reused=len(known))
        yield from (missing for missing in page if missing.digest not in known)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The vectors that a request brought."""

    texts: tuple[Missing, ...]
    vectors: Vectors | None
    """None where there was nothing to ask for."""
    charge: Charge


class _Run:
    """One pass over the missing texts, and one over the missing media files."""

    def __init__(
        self,
        provider: Provider,
        *,
        keep: Keep,
        pending: int,
        progress: Progress,
        deadline: float | None,
    ) -> None:
        self._provider = provider
        self._keep = keep
        self._pending = pending
        self._progress = progress
        self._sizes = Sizes()
        self._report = Embedded()
        self._returned: collections.deque[Parcel] = collections.deque()
        self._unanswered = 0
        self._refused: list[Missing] = []
        self._dollars: float | None = 0.0
        self._left_out: ProviderError | None = None
        self._end: ProviderError | None = None
        self._deadline = deadline
        self._is_late = False
        self.seen = 0
        """Texts that were missing, as far as the run came."""

    def embed(self, texts: Iterator[Missing], *, ask: Callable[[Parcel], _Answer]) -> None:
        """Send parcels until all are answered or there is no sense in going on."""
        limits = self._provider.limits
        if self._deadline is not None and limits.in_flight == 1:
            # Between parcels is where a run without threads can stop: they are small then.
            limits = replace(limits, texts=min(limits.texts, _SMALL))
        crew: Crew[Parcel, _Answer] = Crew(ask, size=limits.in_flight)
        self._sizes = Sizes()  # how many texts a server takes says nothing of media files
        packer = Packer(texts, limits=limits)
        taking: tuple[Parcel, _Answer | BaseException] | None = None
        try:
            while True:
                while crew.has_room and self._end is None and self._time_left() != 0:
                    parcel = self._next_parcel(packer)
                    if parcel is None:
                        break
                    self._tell_progress()
                    crew.start(parcel)
                if crew.is_idle:
                    break
                ended = crew.next_outcome(wait_seconds=self._time_left())
                if ended is None:  # the answers may still come; nobody waits for them
                    self._is_late = True
                    return
                taking = ended
                self._take(ended)
                taking = None
            self._is_late = self._time_left() == 0
        except BaseException:
            self._keep_paid(crew, taking)
            raise
        self._tell_progress()

    def _keep_paid(
        self,
        crew: Crew[Parcel, _Answer],
        taking: tuple[Parcel, _Answer | BaseException] | None,
    ) -> None:
        """Store what is paid for already; a second interruption ends this wait too."""
        if taking is not None:
            # It was just being stored, and is stored again: vectors are kept once in any case.
            self._take(taking)
        while not crew.is_idle:
            ended = crew.next_outcome(wait_seconds=_GRACE_SECONDS)
            if ended is None:
                break
            self._take(ended)

    def _time_left(self) -> float | None:
        """Return the seconds there are, 0 when there are none; None is no limit."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def found(self, *, page: int, reused: int) -> None:
        """Count texts that were missing, and those of them that need no embedding."""
        self.seen += page
        self._report.reused += reused

    def finished(self, *, is_whole: bool) -> Embedded:
        """Return what was done, and why not more."""
        error = self._end or self._left_out
        self._report.is_complete = is_whole and self._end is None and not self._is_late
        self._report.refused = tuple(missing.digest for missing in self._refused)
        if error is not None:
            message = error.message + _named(self._refused)
            is_files = self._end is None and all(missing.path for missing in self._refused)
            self._report.degradation = Degradation(message, _EXCLUDE if is_files else error.action)
        return self._report

    def _next_parcel(self, packer: Packer) -> Parcel | None:
        """Return what came back before what is fresh, and nothing of a size known to be refused."""
        most = self._sizes.most
        if not self._returned:
            return packer.next(most)
        parcel = self._returned.popleft()
        while most is not None and len(parcel.texts) > most:
            parcel, rest = parcel.halves()
            self._returned.appendleft(rest)
        return parcel

    def ask_texts(self, parcel: Parcel) -> _Answer:
        """Return the vectors of a parcel of texts."""
        texts = [missing.text for missing in parcel.texts]
        vectors = self._provider.embed(texts, role=Role.DOCUMENT)
        return _Answer(parcel.texts, vectors, self._charge(parcel))

    def ask_media(self, provider: EmbedsMedia, root: Path, parcel: Parcel) -> _Answer:
        """Return the vectors of media files; one that changed is left for the next sync."""
        loaded = [(missing, load_media(missing, workspace=root)) for missing in parcel.texts]
        held = [(missing, media) for missing, media in loaded if media is not None]
        files = [media for _, media in held]
        charges = [provider.charge(media) for media in files]
        dollars = [charge.dollars for charge in charges if charge.dollars is not None]
        return _Answer(
            texts=tuple(missing for missing, _ in held),
            vectors=provider.embed_media(files) if files else None,
            charge=Charge(
                tokens=sum(charge.tokens for charge in charges),
                dollars=sum(dollars) if len(dollars) == len(charges) else None,
            ),
        )

    def _charge(self, parcel: Parcel) -> Charge:
        price = self._provider.price
        return Charge(parcel.tokens, None if price is None else parcel.tokens * price / 1e6)

    def _take(self, ended: tuple[Parcel, _Answer | BaseException] | None) -> None:
        if ended is None:
            return
        parcel, outcome = ended
        if isinstance(outcome, ProviderBusyError):
            self._take_unanswered(parcel, outcome)
        elif isinstance(outcome, (RequestRefusedError, VectorsRejectedError)):
            self._take_refused(parcel, outcome)
        elif isinstance(outcome, ProviderError):
            self._end = outcome
        elif isinstance(outcome, BaseException):
            raise outcome
        elif outcome.vectors is not None:
            self._store(outcome.texts, outcome.vectors, outcome.charge)

    def _store(self, texts: tuple[Missing, ...], vectors: Vectors, charge: Charge) -> None:
        self._keep.store([missing.digest for missing in texts], vectors)
        self._unanswered = 0
        self._sizes.taken(len(texts))
        self._report.done += len(texts)
        self._report.tokens += charge.tokens
        # One price that is not known makes the sum unknown, whatever else was paid.
        if self._dollars is not None:
            self._dollars = None if charge.dollars is None else self._dollars + charge.dollars
        self._report.cost = self._dollars

    def _take_unanswered(self, parcel: Parcel, error: ProviderBusyError) -> None:
        """Put the parcel last: it may be a bad moment, or a bad server."""
        self._unanswered += 1
        if self._unanswered >= _UNANSWERED or parcel.attempts + 1 >= _UNANSWERED:
            self._end = error
        else:
            again = Parcel(parcel.texts, parcel.tokens, parcel.attempts + 1)
            self._returned.append(again)

    def _take_refused(self, parcel: Parcel, error: ProviderError) -> None:
        """Send less at once; a text refused by itself is sent in parts, or left out."""
        self._sizes.refused(len(parcel.texts))
        if len(parcel.texts) > 1:
            # First: the sooner the right size is known, the fewer requests are refused.
            self._returned.extendleft(reversed(parcel.halves()))
            return
        [refused] = parcel.texts
        if refused.path:
            self._leave_out(refused, error)
            return
        try:
            vector = _embed_in_parts(self._provider, refused.text)
        except (RequestRefusedError, VectorsRejectedError):
            self._leave_out(refused, error)
            if not self._report.done and len(self._refused) >= _REFUSED_AT_ONCE:
                self._end = error
        except ProviderError as failure:
            self._end = failure
        else:
            self._store(parcel.texts, vector[np.newaxis], self._charge(parcel))

    def _leave_out(self, refused: Missing, error: ProviderError) -> None:
        self._refused.append(refused)
        self._left_out = error

    def _tell_progress(self) -> None:
        report = self._report
        done = report.done + report.reused
        total = max(self._pending, done)
        if total:
            self._progress(Step("embed", done, total, report.tokens, report.cost))


def _named(refused: list[Missing]) -> str:
    """Return what to say of what was left out; a file by its path, since that can be excluded."""
    files = sorted(missing.path for missing in refused if missing.path)
    texts = len(refused) - len(files)
    said = f" {texts} texts were left out." if texts else ""
    if files:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        said += f" Left out: {files[0]}{more}."
    return said


def _embed_in_parts(provider: Provider, text: str) -> Vector:
    """Return the vector of a text too long for the model: the mean of its halves' vectors."""
    if estimate_tokens(text) < _LEAST_TOKENS:
        raise RequestRefusedError(
            "The provider refuses a text that is not long.", action="Check the setting `model`."
        )
    middle = len(text) // 2
    cut = text.rfind(" ", middle // 2, middle) + 1 or middle
    halves = [_embed_or_part(provider, half) for half in (text[:cut], text[cut:])]
    mean = np.average(halves, axis=0, weights=[cut, len(text) - cut]).astype(np.float32)
    unit: Vector = mean / np.linalg.norm(mean)
    return unit


def _embed_or_part(provider: Provider, text: str) -> Vector:
    try:
        vector: Vector = provider.embed([text], role=Role.DOCUMENT)[0]
    except RequestRefusedError:
        return _embed_in_parts(provider, text)
    return vector
