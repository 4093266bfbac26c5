"""A provider for Recollect whose vectors are given: no model runs, so none is measured."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
from bench.speed.lookup import Lookup

from recollect.providers import registry
from recollect.providers.base import Limits
from recollect.types import Background, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.providers.options import ProviderOptions
    from recollect.types import Progress, Role, Vectors

NAME = "ollama"  # in the place of one that the settings accept
FILE, DIMENSIONS = "BENCH_VECTORS", "BENCH_DIMENSIONS"
_BACKGROUND = Background(0.2, 0.1)


class GivenVectors:
    """Embeds a chunk by the number in its heading, and a question by a vector handed over."""

    background = _BACKGROUND
    limits = Limits(texts=512, tokens=1_000_000, in_flight=1)
    price = None
    cpu = 0.0
    """Seconds spent here, to be left out."""
    question: np.ndarray | None = None

    def __init__(self) -> None:
        dimensions = int(os.environ[DIMENSIONS])
        self.fingerprint = Fingerprint(NAME, "given", dimensions, "-")
        vectors = np.memmap(os.environ[FILE], np.float32, "r").reshape(-1, dimensions)
        self._lookup = Lookup(vectors)

    def reads(self, text: str) -> float:
        """Return 1: every text counts."""
        del text
        return 1.0

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Do nothing."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return the given vectors; a text without a number gets one by chance."""
        del role
        begun = time.thread_time()
        self._lookup.question = GivenVectors.question
        found = self._lookup.vectors_of(texts)
        GivenVectors.cpu += time.thread_time() - begun
        return found

    def close(self) -> None:
        """Do nothing."""


def open_given(options: ProviderOptions, *, cache: Path) -> GivenVectors:
    """Return the provider."""
    del options, cache
    return GivenVectors()


def register() -> None:
    """Put the provider in the place of another, in this process."""
    registry._PROVIDERS[NAME] = f"{__name__}:open_given"  # noqa: SLF001 - a measurement
