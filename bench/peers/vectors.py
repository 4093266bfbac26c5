"""The vectors that the programs get from a server: those of Recollect's default model."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from recollect.providers.base import Provider


class Vectors:
    """Embeds texts, and questions with the prefix that the model wants for them.

    OpenAI's API does not say which texts are questions, so they are known here.
    """

    def __init__(self, provider: Provider, questions: Iterable[str]) -> None:
        self._provider = provider
        self._questions = {_plain(question) for question in questions}
        self._known: dict[tuple[str, Role], npt.NDArray[np.float32]] = {}
        self._lock = threading.Lock()
        self.with_prefix = True
        """Whether a question gets its prefix."""
        self.recognised: set[str] = set()
        """The questions that were embedded as such, to be checked and cleared by the caller."""

    def of(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return a vector for each text."""
        with self._lock:
            return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        role = Role.DOCUMENT
        if self.with_prefix and _plain(text) in self._questions:
            role = Role.QUERY
            self.recognised.add(_plain(text))
        if (text, role) not in self._known:
            self._known[text, role] = self._provider.embed([text], role=role)[0]
        return self._known[text, role]


def _plain(text: str) -> str:
    """Return a text with the whitespace that programs change made equal."""
    return " ".join(text.split())
