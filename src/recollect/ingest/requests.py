"""What travels to a provider in one request, how large it may be, and several at once."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from recollect.records import dataclass
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.providers.base import Limits
    from recollect.stores.base import Missing

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")


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


@dataclass(slots=True)
class RequestSizes:
    """How many texts a server accepts in one request, learned from what it took and refused."""

    most_taken: int = 0
    least_refused: int | None = None

    def taken(self, count: int) -> None:
        """Record that a request with so many texts was accepted."""
        self.most_taken = max(self.most_taken, count)

    def refused(self, count: int) -> None:
        """Record that a request with so many texts was refused."""
        if count > 1:
            self.least_refused = min(count, self.least_refused or count)

    @property
    def max_texts(self) -> int | None:
        """Return how many to send: halfway between what was taken and what was refused.

        None is no limit. If as many were taken as were refused, a text was refused, not the number.
        """
        if self.least_refused is None or self.most_taken >= self.least_refused:
            return None
        return max((self.most_taken + self.least_refused) // 2, 1)


class WorkerPool(Generic[Work, Outcome]):
    """Runs at most `size` pieces of work at once; outcomes come back in the order they finish.

    Its threads are daemons: a process that is told to end does not wait for a server.
    """

    def __init__(self, work: Callable[[Work], Outcome], *, size: int) -> None:
        self._work = work
        self._size = size
        self._running = 0
        self._finished: deque[tuple[Work, Outcome | BaseException]] = deque()
        self._changed = threading.Condition()

    @property
    def is_idle(self) -> bool:
        """True if nothing is running and every outcome was dropped."""
        return self._running == 0 and not self._finished

    @property
    def has_room(self) -> bool:
        """True if another piece of work may start."""
        return self._running < self._size

    def start(self, piece: Work) -> None:
        """Start a piece of work; a pool of one does it here and now."""
        self._running += 1
        if self._size == 1:
            self._run(piece)
        else:
            threading.Thread(target=self._run, args=(piece,), daemon=True).start()

    def next_outcome(
        self, *, wait_seconds: float | None = None
    ) -> tuple[Work, Outcome | BaseException] | None:
        """Wait for the next piece of work to finish; None if it did not in time.

        It stays the next one until it is dropped: an interrupt between the two loses nothing.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._finished, timeout=wait_seconds):
                return None
        return self._finished[0]

    def drop_outcome(self) -> None:
        """Go on to the one after it."""
        self._running -= 1
        self._finished.popleft()

    def _run(self, piece: Work) -> None:
        outcome: Outcome | BaseException
        try:
            outcome = self._work(piece)
        except Exception as error:  # noqa: BLE001 - handed to the caller, whatever it is
            outcome = error
        with self._changed:
            self._finished.append((piece, outcome))
            self._changed.notify()
