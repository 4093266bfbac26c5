"""How near a chunk is to a question beyond its cosine: by its document and all other candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.stores.vectors import dots

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.types import Vectors

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

FEW = 50
"""Candidates of which the middle counts half: of few, each makes up much of it."""


def by_document(cosines: Floats, present: Bools, paths: Sequence[str]) -> Floats:
    """Return for each chunk the mean cosine of its document's chunks in the union."""
    numbers: dict[str, int] = {}
    owner = np.array([numbers.setdefault(path, len(numbers)) for path in paths], dtype=np.intp)
    weights = present.astype(np.float64)
    sums = np.bincount(owner, weights=cosines * weights)
    counts = np.bincount(owner, weights=weights)
    means: Floats = (sums / np.maximum(counts, 1.0))[owner]
    return means


def commonness(vectors: Vectors, present: Bools) -> Floats:
    """Return how much nearer each chunk is to all candidates than they are to each other.

    The note of a busy day is near to every question, whatever was asked: docs/decisions/ranking.md.
    """
    found = np.zeros(len(present))
    own = vectors[present]
    if len(own):
        cosines = dots(own, own.mean(axis=0)).astype(np.float64)
        found[present] = (cosines - cosines.mean()) * len(own) / (len(own) + FEW)
    return found
