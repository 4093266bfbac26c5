"""Embeds texts and media files that have no vector: from the cache, else through the provider.

Several requests are in flight at once and each answer is stored as soon as it arrives: whatever
ends the run, no text is embedded twice. A provider that fails is a value, not an error.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
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
from recollect.providers.base import EmbedsMedia, EmbedsPatiently, word_reader
from recollect.providers.deadline import begin, settle
from recollect.records import dataclass
from recollect.reports import Embedded
from recollect.text.size import estimate_tokens
from recollect.types import Degradation, Role, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from recollect.ingest.spaces import Budget, CachedVectors, VectorSpace
    from recollect.providers.base import Limits, Provider
    from recollect.stores.base import Missing, Store
    from recollect.types import Background, Progress, Vector, Vectors

_PAGE = 1024  # texts fetched from the store at once
_MOST_UNANSWERED = 3  # requests in a row without an answer: the server is gone
_MOST_REFUSED_FIRST = 3  # texts refused before any was accepted: it is not the texts
_LEAST_TOKENS = 128  # a shorter text is not refused for its length
_EXCLUDE = "Make such a file smaller or shorter, or name it in the setting `exclude`."
_SMALL_REQUEST = 8  # texts per request if there is a deadline and no thread
_GRACE_SECONDS = 5.0  # an interrupted run waits so long for answers that are already paid for


def embed_missing(  # noqa: PLR0913 - the parts that meet here
    store: Store,
    space: VectorSpace,
    *,
    vectors: CachedVectors,
    pending: int,
    progress: Progress,
    budget: Budget,
    skipped: frozenset[str] = frozenset(),
    is_awaiting_more: bool = False,
) -> Embedded:
    """Embed every text of a space that has no vector in it, then every media file.

    `skipped` are texts that were refused before, or that a batch will bring: `is_awaiting_more`.
    """
    provider, max_texts = space.provider, budget.texts
    run = _EmbedRun(
        provider, put=vectors.put, pending=pending, progress=progress, deadline=budget.deadline
    )

    def missing(*, media: bool) -> Iterator[Missing]:
        """Yield what has to be embedded; what the cache holds is stored on the way."""
        after = 0
        texts = replace(space.texts, media=media)
        while max_texts is None or run.seen < max_texts:
            page = store.missing(texts, limit=_PAGE, after=after)
            if not page:
                return
            after = page[-1].number
            page = [each for each in page if each.digest not in skipped]
            if not media:
                others = frozenset(each.digest for each in page if not space.wants(each.text))
                run.report.unread += tuple(others)
                page = [each for each in page if each.digest not in others]
            if max_texts is not None:
                page = page[: max_texts - run.seen]
            known = vectors.reuse([each.digest for each in page])
            run.seen += len(page)
            run.report.reused += len(known)
            yield from (each for each in page if each.digest not in known)

    run.embed(missing(media=False), ask=run.ask_texts)
    if space.media_roots and isinstance(provider, EmbedsMedia):
        run.embed(missing(media=True), ask=partial(run.ask_media, provider, space.media_roots))
    is_whole = max_texts is None or run.seen < max_texts
    return run.finished(is_whole=is_whole and not is_awaiting_more)


def measure_background(
    provider: Provider, *, vectors: CachedVectors, deadline: float | None
) -> bool:
    """Return whether the store knows the background of the provider's space now."""
    space = vectors.store.spaces().get(vectors.fingerprint)
    if space is not None and space.background is not None:
        return True
    background = provider.background or vectors.background()
    if background is None:
        background = measured(provider, deadline)
        if background is None:
            return False
        vectors.cache_background(background)
    vectors.store.put_background(vectors.fingerprint, background)
    return True


def measured(provider: Provider, deadline: float | None) -> Background | None:
    """Return the background of a provider's space; None leaves it to the next run, out of time."""
    from recollect.providers.calibrate import (  # noqa: PLC0415 - once in the life of a space
        NOTES,
        QUESTIONS,
        background_of,
    )

    embed = provider.embed_patiently if isinstance(provider, EmbedsPatiently) else provider.embed

    def asked(texts: Sequence[str], role: Role) -> Vectors:
        for _ in range(_MOST_UNANSWERED - 1):
            with suppress(ProviderBusyError):
                return embed(texts, role=role)
        return embed(texts, role=role)

    def embedded(texts: Sequence[str], role: Role) -> Vectors:
        accepted: list[Vectors] = []
        try:
            return asked(texts, role)
        except RequestRefusedError:  # so many at once, or one of them
            for text in texts:
                with suppress(RequestRefusedError):
                    accepted.append(asked([text], role))
            if not accepted:
                raise
            return np.concatenate(accepted)

    def measure() -> Background:
        return background_of(embedded(QUESTIONS, Role.QUERY), embedded(NOTES, Role.DOCUMENT))

    seconds = _seconds_until(deadline)
    if seconds == 0:
        return None
    if provider.limits.in_flight == 1:
        return measure()
    outcome = begin(measure)
    return outcome.result() if wait([outcome], seconds).done else None


@dataclass(frozen=True, slots=True)
class _Embeddings:
    """The vectors that a request returned."""

    texts: tuple[Missing, ...]
    vectors: Vectors | None
    """The vectors; None if there was nothing to ask for."""
    tokens: int
    words: list[bytes] | None = None
    """Word codes, if the model has them."""


class _EmbedRun:
    """One pass over the missing texts, and one over the missing media files."""

    def __init__(
        self,
        provider: Provider,
        *,
        put: Callable[[Sequence[str], Vectors, Sequence[bytes] | None], None],
        pending: int,
        progress: Progress,
        deadline: float | None,
    ) -> None:
        self._provider = provider
        self._put = put
        self._pending = pending
        self._progress = progress
        self._deadline = deadline
        self._most_taken = 0  # texts in one request that was accepted
        self._most_texts: int | None = None  # half of what was refused
        self._returned: deque[EmbedRequest] = deque()
        self._unanswered = 0
        self._refused: list[Missing] = []
        self.report = Embedded()
        self.left_out: ProviderError | None = None
        """Why some texts were left out."""
        self.end: ProviderError | None = None
        """Why going on makes no sense."""
        self.is_late = False
        """Whether the deadline left some work undone."""
        self.seen = 0
        """Texts without a vector that the run has come across."""

    def embed(
        self, texts: Iterator[Missing], *, ask: Callable[[EmbedRequest], _Embeddings]
    ) -> None:
        """Send requests until all are answered, or going on makes no sense."""
        limits = self._provider.limits
        if self._deadline is not None and limits.in_flight == 1:
            # Without threads a run can stop only between requests, so they are small.
            limits = replace(limits, texts=min(limits.texts, _SMALL_REQUEST))
        self._most_taken, self._most_texts = 0, None  # what fits of texts, not of media files
        packer = RequestPacker(texts, limits=limits)
        running: dict[Future[_Embeddings], EmbedRequest] = {}
        try:
            while True:
                while len(running) < limits.in_flight and not self.end and self._has_time:
                    request = self._next_request(packer)
                    if request is None:
                        break
                    self._report_progress()
                    outcome: Future[_Embeddings] = Future()
                    # Noted first: an interruption must not lose an answer that is paid for.
                    running[outcome] = request
                    if limits.in_flight > 1:
                        begin(partial(ask, request), outcome)
                    else:
                        settle(outcome, partial(ask, request))
                if not running:
                    break
                finished, _ = wait(running, _seconds_until(self._deadline), FIRST_COMPLETED)
                if not finished:  # the answers may still come, but nobody waits for them
                    self.is_late = True
                    return
                for each in finished:
                    self._take(running[each], each.exception() or each.result())
                    del running[each]
            self.is_late = not self._has_time
        except BaseException:
            self._store_paid(running)
            raise
        self._report_progress()

    @property
    def _has_time(self) -> bool:
        return _seconds_until(self._deadline) != 0

    def _store_paid(self, running: dict[Future[_Embeddings], EmbedRequest]) -> None:
        """Store what is already paid for; a second interruption ends this wait, too.

        The first may have been half stored when the run was interrupted: twice is harmless.
        """
        finished, _ = wait(running, _GRACE_SECONDS)
        for each in finished:
            if each.exception() is None:
                self._take(running[each], each.result())

    def finished(self, *, is_whole: bool) -> Embedded:
        """Return what was done, and why not more."""
        error = self.end or self.left_out
        self.report.is_complete = is_whole and self.end is None and not self.is_late
        self.report.refused = tuple(missing.digest for missing in self._refused)
        if error is not None:
            message = error.message + _left_out_sentence(self._refused)
            is_files = self.end is None and all(missing.path for missing in self._refused)
            self.report.degradation = Degradation(message, _EXCLUDE if is_files else error.action)
        return self.report

    def _next_request(self, packer: RequestPacker) -> EmbedRequest | None:
        """Return what came back before what is fresh, and nothing of a size known to be refused."""
        max_texts = self._most_texts
        if not self._returned:
            return packer.next(max_texts)
        request = self._returned.popleft()
        while max_texts is not None and len(request.texts) > max_texts:
            request, rest = request.halves()
            self._returned.appendleft(rest)
        return request

    def ask_texts(self, request: EmbedRequest) -> _Embeddings:
        """Return the vectors of a request of texts."""
        texts = [missing.text for missing in request.texts]
        reader = word_reader(self._provider)
        if reader is not None:
            vectors, words = reader.embed_worded(texts)
            return _Embeddings(request.texts, vectors, request.tokens, words)
        if isinstance(self._provider, EmbedsPatiently):
            vectors = self._provider.embed_patiently(texts, role=Role.DOCUMENT)
        else:
            vectors = self._provider.embed(texts, role=Role.DOCUMENT)
        return _Embeddings(request.texts, vectors, request.tokens)

    def ask_media(
        self, provider: EmbedsMedia, roots: tuple[Path, ...], request: EmbedRequest
    ) -> _Embeddings:
        """Return the vectors of media files; one that changed is left for the next sync."""
        loaded = [(missing, load_media(missing, roots=roots)) for missing in request.texts]
        held = [(missing, media) for missing, media in loaded if media is not None]
        files = [media for _, media in held]
        return _Embeddings(
            texts=tuple(missing for missing, _ in held),
            vectors=provider.embed_media(files) if files else None,
            tokens=sum(provider.media_tokens(media) for media in files),
        )

    def _take(self, request: EmbedRequest, outcome: _Embeddings | BaseException) -> None:
        if isinstance(outcome, ProviderBusyError):
            self._take_unanswered(request, outcome)
        elif isinstance(outcome, (RequestRefusedError, VectorsRejectedError)):
            self._take_refused(request, outcome)
        elif isinstance(outcome, ProviderError):
            self.end = outcome
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            self._store(outcome)

    def _store(self, found: _Embeddings) -> None:
        if found.vectors is None:
            return
        self._put([missing.digest for missing in found.texts], found.vectors, found.words)
        self._unanswered = 0
        self._most_taken = max(self._most_taken, len(found.texts))
        self.report.done += len(found.texts)
        self.report.tokens += found.tokens

    def _take_unanswered(self, request: EmbedRequest, error: ProviderBusyError) -> None:
        """Send the request again later: it may be a bad moment, or a bad server."""
        self._unanswered += 1
        attempts = request.attempts + 1
        if self._unanswered >= _MOST_UNANSWERED or attempts >= _MOST_UNANSWERED:
            self.end = error
        else:
            self._returned.append(replace(request, attempts=attempts))

    def _take_refused(self, request: EmbedRequest, error: ProviderError) -> None:
        """Send less at once; a text refused by itself is sent in parts, or left out."""
        count = len(request.texts)
        if count > 1:
            # If as many were taken before, a text was refused, not the number.
            self._most_texts = None if count <= self._most_taken else count // 2
            # First: the sooner the right size is known, the fewer requests are refused.
            self._returned.extendleft(reversed(request.halves()))
            return
        [refused] = request.texts
        if refused.path:
            self._leave_out(refused, error)
            return
        try:
            vector = _embed_in_parts(self._provider, refused.text)
        except (RequestRefusedError, VectorsRejectedError):
            self._leave_out(refused, error)
            if not self.report.done and len(self._refused) >= _MOST_REFUSED_FIRST:
                self.end = error
        except ProviderError as failure:
            self.end = failure
        else:
            self._store(_Embeddings(request.texts, vector[np.newaxis], request.tokens))

    def _leave_out(self, refused: Missing, error: ProviderError) -> None:
        self._refused.append(refused)
        self.left_out = error

    def _report_progress(self) -> None:
        report = self.report
        done = report.done + report.reused
        total = max(self._pending, done)
        if total:
            self._progress(Step("embed", done, total, report.tokens))


def _left_out_sentence(refused: list[Missing]) -> str:
    """Return what was left out; files by their path, since those can be excluded."""
    files = sorted(missing.path for missing in refused if missing.path)
    texts = len(refused) - len(files)
    were = "text was" if texts == 1 else "texts were"
    sentence = f" {texts} {were} left out." if texts else ""
    if files:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        sentence += f" Left out: {files[0]}{more}."
    return sentence


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


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """Texts, or media files, that travel in one request."""

    texts: tuple[Missing, ...]
    tokens: int
    attempts: int = 0
    """How often it came back because the server did not answer."""

    @classmethod
    def of(cls, texts: Iterable[Missing]) -> EmbedRequest:
        """Return a request for all these texts."""
        held = tuple(texts)
        return cls(held, sum(estimate_tokens(missing.text) for missing in held))

    def halves(self) -> tuple[EmbedRequest, EmbedRequest]:
        """Return two requests with half of the texts each."""
        middle = len(self.texts) // 2
        return self.of(self.texts[:middle]), self.of(self.texts[middle:])


class RequestPacker:
    """Fills requests from a stream of texts, whatever file each came from."""

    def __init__(self, texts: Iterator[Missing], *, limits: Limits) -> None:
        self._texts = texts
        self._limits = limits
        self._held_back: Missing | None = None

    def next(self, max_texts: int | None) -> EmbedRequest | None:
        """Return a request as full as the limits and `max_texts` allow; None if no text is left.

        A text larger than a whole request travels alone: only the server knows whether it fits.
        """
        held: list[Missing] = []
        tokens = load_bytes = 0
        while len(held) < min(self._limits.texts, max_texts or self._limits.texts):
            missing = self._held_back or next(self._texts, None)
            self._held_back = None
            if missing is None:
                break
            tokens += estimate_tokens(missing.text)
            load_bytes += base64_bytes(missing.size_bytes)
            is_full = tokens > self._limits.tokens or load_bytes > self._limits.media_bytes
            if held and is_full:
                self._held_back = missing
                break
            held.append(missing)
        return EmbedRequest.of(held) if held else None


def base64_bytes(size_bytes: int) -> int:
    """Return how many bytes a file takes when it travels as base64."""
    return -(-size_bytes // 3) * 4


def _seconds_until(deadline: float | None) -> float | None:
    """Return the seconds left, 0 at the deadline; None is no limit."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)
