"""Finds the given vector of a text by the number in its heading: no model runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_MARKER = re.compile(r"\br(\d{7})\b")


class Lookup:
    """The vectors of the corpus, and that of the question which is asked next."""

    def __init__(self, vectors: npt.NDArray[np.float32]) -> None:
        self._vectors = vectors
        self.question: npt.NDArray[np.float32] | None = None

    def vectors_of(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a vector for each text; one that has no number gets one by chance."""
        found = np.empty((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for row, text in enumerate(texts):
            if (named := _MARKER.search(text)) is not None:
                found[row] = self._vectors[int(named[1])]
            elif self.question is not None:
                found[row] = self.question
            else:
                rng = np.random.default_rng(crc32(text.encode()))
                drawn = rng.standard_normal(found.shape[1], dtype=np.float32)
                found[row] = drawn / np.linalg.norm(drawn)
        return found
