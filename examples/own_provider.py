"""Your own provider, as a package would offer it.

It compares letters, not meaning, which is enough to forgive typing errors. Replace `_vector` with
your model. The package names the function in its pyproject.toml:

    [project.entry-points."recollect.providers"]
    trigrams = "own_provider:open_trigrams"

Then `provider = "trigrams"` in your settings, or RECOLLECT_PROVIDER=trigrams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from recollect.providers.base import Limits
from recollect.types import Background, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.providers.base import Provider
    from recollect.providers.options import ProviderOptions
    from recollect.types import Progress, Role, Vector, Vectors

DIMENSIONS = 512


class Trigrams:
    """Counts runs of three letters; the counts are the vector."""

    # Change it with the model, the dimensions or the prompts: vectors with different fingerprints
    # are never compared.
    fingerprint = Fingerprint("trigrams", "crc32", dimensions=DIMENSIONS, prompts="none")
    # How similar unrelated texts are. None: Recollect measures it once, with texts of its own.
    background: Background | None = None
    limits = Limits(texts=256, tokens=100_000, in_flight=1)

    def reads(self, text: str) -> float:
        """Return the share of a text that the model understands: all, in any script."""
        del text
        return 1.0

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Do nothing; a real model loads here and raises a ProviderError if it cannot."""

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one unit-length vector per text; questions and notes are treated alike."""
        del role
        return np.stack([_vector(text) for text in texts])

    def close(self) -> None:
        """Do nothing."""


def open_trigrams(options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the provider; called if the settings choose it."""
    del options, cache
    return Trigrams()


def _vector(text: str) -> Vector:
    padded = f"  {text.casefold()}  "
    counts = np.zeros(DIMENSIONS, dtype=np.float32)
    for start in range(len(padded) - 2):
        counts[crc32(padded[start : start + 3].encode()) % DIMENSIONS] += 1
    return counts / np.float32(np.linalg.norm(counts))
