"""Arithmetic on vectors that stores share: validation, selection, binary codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import VectorsRejectedError

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.types import Vector, Vectors

_UNIT_TOLERANCE = 1e-3  # float32 rounding over a few thousand dimensions stays far below


def check_vectors(vectors: Vectors, *, count: int, dimensions: int) -> None:
    """Reject vectors that would corrupt a space.

    Raises:
        VectorsRejectedError: wrong count or dimensions, non-finite values, or not unit length.

    """
    if vectors.shape != (count, dimensions):
        problem = f"vectors of shape {vectors.shape} instead of {(count, dimensions)}"
    elif not np.isfinite(vectors).all():
        problem = "values that are not finite numbers"
    elif count and np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > _UNIT_TOLERANCE:
        problem = "vectors that are not of unit length"
    else:
        return
    raise VectorsRejectedError(
        f"The embedding provider returned {problem}.",
        action="Check the provider's model and dimensions. Nothing was stored.",
    )


def top(values: npt.NDArray[np.float32], limit: int) -> npt.NDArray[np.intp]:
    """Return the positions of the `limit` largest values, best first, ties by position."""
    if limit < len(values):
        pool = np.argpartition(-values, limit)[:limit]
        # argpartition breaks ties at random, so include all values equal to the worst one kept.
        pool = np.flatnonzero(values >= values[pool].min())
    else:
        pool = np.arange(len(values))
    return pool[np.lexsort((pool, -values[pool]))][:limit]


def encode(vectors: Vectors, centre: Vector) -> npt.NDArray[np.uint8]:
    """Return one bit per dimension: the sign of each vector relative to the centre of the space.

    Centring matters: text vectors have a large part in common, and signs around zero would mostly
    repeat it.
    """
    return np.packbits(vectors > centre, axis=-1)


def hamming(codes: npt.NDArray[np.uint8], code: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Return the number of bits in which each code differs from one code."""
    words = np.uint64 if codes.shape[1] % 8 == 0 else np.uint8
    many, one = codes.view(words), code.view(words)
    distances = np.zeros(len(codes), dtype=np.uint16)
    # Column by column: three times as fast as summing rows of six words.
    for column in range(many.shape[1]):
        distances += np.bitwise_count(many[:, column] ^ one[column])
    return distances


def closest(distances: npt.NDArray[np.uint16], count: int) -> npt.NDArray[np.intp]:
    """Return the positions of the `count` smallest distances, and of all that tie with the last."""
    within = np.cumsum(np.bincount(distances))
    return np.flatnonzero(distances <= np.searchsorted(within, count))
