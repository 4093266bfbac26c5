"""A provider that needs no model: texts become vectors by the hashes of their words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from recollect.providers import options
from recollect.providers.base import Limits
from recollect.types import Background, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.providers.options import ProviderOptions
    from recollect.types import Role, Vectors

NAME = "ollama"  # in the place of one that the settings accept
DIMENSIONS = 64


class HashingProvider:
    """Embeds any text at once."""

    fingerprint = Fingerprint(NAME, "words", DIMENSIONS, "-")
    background = Background(0.05, 0.1)
    limits = Limits(texts=64, tokens=100_000, in_flight=1)

    def reads(self, text: str) -> float:
        """Return 1: every text has words."""
        del text
        return 1.0

    def prepare(self) -> None:
        """Do nothing."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return the normalized sum of one random direction per word."""
        del role
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                number = crc32(word.encode("utf-8", "surrogatepass"))
                vectors[row, number % DIMENSIONS] += 1.0 if number & 1024 else -1.0
            vectors[row, 0] += 0.5
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def close(self) -> None:
        """Do nothing."""


def open_hashing(options: ProviderOptions) -> HashingProvider:
    """Return the provider."""
    del options
    return HashingProvider()


def register() -> None:
    """Put the provider in the place of another, in this process: a test takes it back."""
    options.PROVIDERS[NAME] = f"{__name__}:open_hashing"
