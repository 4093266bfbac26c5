"""A provider for Recollect whose vectors are given: no model runs, so none is measured."""

from __future__ import annotations

import hashlib
import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from bench.speed.lookup import Lookup

from recollect.providers import options
from recollect.providers.base import Limits
from recollect.text.terms import query_terms
from recollect.types import Background, Fingerprint, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.providers.base import EmbeddedQuestion
    from recollect.providers.options import ProviderOptions
    from recollect.types import Vectors

NAME = "ollama"  # in the place of one that the settings accept
FILE, DIMENSIONS = "BENCH_VECTORS", "BENCH_DIMENSIONS"
WITHOUT_WORDS = "BENCH_WITHOUT_WORDS"
"""Set for a model that has no word states."""
_BACKGROUND, _WORD_BACKGROUND = Background(0.2, 0.1), Background(0.45, 0.05)
_WORD = re.compile(r"\w+")


class GivenVectors:
    """Embeds a chunk by the number in its heading, and a question by a vector handed over."""

    background = _BACKGROUND
    limits = Limits(texts=512, tokens=1_000_000, in_flight=1)
    cpu = 0.0
    """Seconds spent here, to be left out."""
    question: np.ndarray | None = None

    def __init__(self) -> None:
        dimensions = int(os.environ[DIMENSIONS])
        self.fingerprint = Fingerprint(NAME, "given", dimensions, "-")
        vectors = np.memmap(os.environ[FILE], np.float32, "r").reshape(-1, dimensions)
        self._dimensions = dimensions
        self.word_background = None if os.environ.get(WITHOUT_WORDS) else _WORD_BACKGROUND
        self._lookup = Lookup(vectors)

    def reads(self, text: str) -> float:
        """Return 1: every text counts."""
        del text
        return 1.0

    def prepare(self) -> None:
        """Do nothing."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return the given vectors; a text without a number gets one by chance."""
        del role
        begun = time.thread_time()
        self._lookup.question = GivenVectors.question
        found = self._lookup.vectors_of(texts)
        GivenVectors.cpu += time.thread_time() - begun
        return found

    def embed_worded(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Return the given vectors, and a code for each telling word."""
        vectors = self.embed(texts, role=Role.DOCUMENT)
        begun = time.thread_time()
        codes = [self._codes(text) for text in texts]
        GivenVectors.cpu += time.thread_time() - begun
        return vectors, codes

    def _codes(self, text: str) -> bytes:
        words = dict.fromkeys(_WORD.findall(text.lower()))
        width = -(-self._dimensions // 8)
        told = [_code(word, width) for word in words if _is_telling(word)]
        return b"".join(told or (_code(text, width),))

    def embed_question(self, text: str) -> EmbeddedQuestion:
        """Return the given vector, and the same states that the codes of its words are made of."""
        from recollect.providers.base import (  # noqa: PLC0415 - earlier ones lack it
            EmbeddedQuestion,
            QuestionWords,
        )

        words = tuple(_WORD.findall(text.lower()))
        width = -(-self._dimensions // 8)
        packed = np.frombuffer(b"".join(_code(word, width) for word in words), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(len(words), width), axis=1, count=self._dimensions)
        states = ((2.0 * bits - 1) / np.sqrt(self._dimensions)).astype(np.float32)
        vector = self.embed([text], role=Role.QUERY)[0]
        return EmbeddedQuestion(vector, QuestionWords(words, states))

    def close(self) -> None:
        """Do nothing."""


@lru_cache(maxsize=1 << 18)
def _code(word: str, width: int) -> bytes:
    """Return the signs of a word's made-up state, the same in every text."""
    return hashlib.shake_128(word.encode()).digest(width)


@lru_cache(maxsize=1 << 18)
def _is_telling(word: str) -> bool:
    found = query_terms(word)
    return not found.stop.issuperset(found.terms)


def open_given(options: ProviderOptions) -> GivenVectors:
    """Return the provider."""
    del options
    return GivenVectors()


def register() -> None:
    """Put the provider in the place of another, in this process."""
    options.PROVIDERS[NAME] = f"{__name__}:open_given"
