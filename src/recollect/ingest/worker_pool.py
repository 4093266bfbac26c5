"""Several requests at once: threads that take one piece of work each and hand back how it ended.

The threads are daemons: a process that is told to end does not wait for a server.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Work = TypeVar("Work")
Outcome = TypeVar("Outcome")


class Crew(Generic[Work, Outcome]):
    """At most `size` pieces of work under way; outcomes come back in the order they finish."""

    def __init__(self, work: Callable[[Work], Outcome], *, size: int) -> None:
        self._work = work
        self._size = size
        self._under_way = 0
        self._outcomes: queue.SimpleQueue[tuple[Work, Outcome | BaseException]] = (
            queue.SimpleQueue()
        )

    @property
    def is_idle(self) -> bool:
        """True when nothing is under way."""
        return self._under_way == 0

    @property
    def has_room(self) -> bool:
        """True when another piece of work may start."""
        return self._under_way < self._size

    def start(self, piece: Work) -> None:
        """Begin a piece of work; with a crew of one, do it here and now."""
        self._under_way += 1
        if self._size == 1:
            self._do(piece)
        else:
            threading.Thread(target=self._do, args=(piece,), daemon=True).start()

    def next_outcome(
        self, *, wait_seconds: float | None = None
    ) -> tuple[Work, Outcome | BaseException] | None:
        """Return what ended next, waiting for it; None when the wait was in vain."""
        try:
            ended = self._outcomes.get(timeout=wait_seconds)
        except queue.Empty:
            return None
        self._under_way -= 1
        return ended

    def _do(self, piece: Work) -> None:
        try:
            self._outcomes.put((piece, self._work(piece)))
        except Exception as error:  # noqa: BLE001 - it is handed to the caller, whatever it is
            self._outcomes.put((piece, error))
