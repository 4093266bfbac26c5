"""The last answers of a language model to questions, so that none is asked twice."""

from __future__ import annotations

import threading
from collections import OrderedDict

_SIZE = 100


class AnswerCache:
    """The most recently used answers, up to a size. Safe to use from several threads."""

    def __init__(self, size: int = _SIZE) -> None:
        self._size = size
        self._answers: OrderedDict[tuple[str, ...], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the answer kept under a key."""
        with self._lock:
            if key not in self._answers:
                return None
            self._answers.move_to_end(key)
            return self._answers[key]

    def put(self, key: tuple[str, ...], answer: tuple[str, ...]) -> None:
        """Keep an answer; the one that was not used for longest makes room."""
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)
