"""Arithmetic on vectors that stores share: validation, selection, binary codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import VectorsRejectedError
from recollect.stores.base import Near, Proposals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from recollect.stores.base import KeywordPool, Space, SpaceVectors, VectorPool
    from recollect.types import Fingerprint, Vector, Vectors

_BLOCK = 131_072  # codes compared at once: what is between steps stays in the processor's cache
_UNIT_TOLERANCE = 1e-3  # float32 rounding over a few thousand dimensions stays far below


def check_vectors(
    vectors: Vectors, *, count: int, dimensions: int, words: Sequence[bytes] | None = None
) -> None:
    """Reject vectors and word codes that would corrupt a space."""
    width = code_bytes(dimensions)
    if vectors.shape != (count, dimensions):
        problem = f"vectors of shape {vectors.shape} instead of {(count, dimensions)}"
    elif not np.isfinite(vectors).all():
        problem = "values that are not finite numbers"
    elif count and np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > _UNIT_TOLERANCE:
        problem = "vectors that are not of unit length"
    elif words and (len(words) != count or any(len(codes) % width for codes in words)):
        problem = "word codes of the wrong length"
    else:
        return
    raise VectorsRejectedError(
        f"The embedding provider returned {problem}.",
        action="Check the provider's model and dimensions. Nothing was stored.",
    )


def code_bytes(dimensions: int) -> int:
    """Return how many bytes a word code has: one bit per dimension."""
    return -(-dimensions // 8)


def dots(vectors: Vectors, others: Vectors | Vector) -> npt.NDArray[np.float32]:
    """Return the product of each vector with the other one, or with its own other one.

    In the calling thread: the threads that `@` starts take longer to begin than this takes.
    """
    products: npt.NDArray[np.float32] = np.vecdot(vectors, others)
    return products


def top(values: npt.NDArray[np.floating], limit: int) -> npt.NDArray[np.intp]:
    """Return the positions of the `limit` largest values, best first, ties by position."""
    if limit < len(values):
        pool = np.argpartition(-values, limit)[: max(limit, 1)]
        # argpartition breaks ties at random, so include all values equal to the worst one kept.
        pool = np.flatnonzero(values >= values[pool].min())
    else:
        pool = np.arange(len(values))
    return pool[np.lexsort((pool, -values[pool]))][:limit]


def encode(vectors: Vectors, centre: Vector) -> npt.NDArray[np.uint64]:
    """Return one bit per dimension, in words of 64: the sign of each vector relative to the centre.

    Text vectors have a large part in common, and signs around zero would mostly repeat it.
    """
    packed = np.packbits(vectors > centre, axis=-1)
    words = np.zeros((*packed.shape[:-1], -(-packed.shape[-1] // 8)), dtype=np.uint64)
    words.view(np.uint8)[..., : packed.shape[-1]] = packed
    return words


def hamming(codes: npt.NDArray[np.uint64], code: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    """Return in how many bits each code differs from one; word by code, to read memory in order."""
    distances = np.zeros(codes.shape[1], dtype=np.uint16)
    differing = np.empty(min(_BLOCK, codes.shape[1]), dtype=np.uint64)
    counted = np.empty(len(differing), dtype=np.uint8)
    for start in range(0, codes.shape[1], _BLOCK):
        totals = distances[start : start + _BLOCK]
        bits, ones = differing[: len(totals)], counted[: len(totals)]
        for words, word in zip(codes[:, start : start + _BLOCK], code, strict=True):
            np.bitwise_xor(words, word, out=bits)
            np.bitwise_count(bits, out=ones)
            np.add(totals, ones, out=totals)
    return distances


def scales(vectors: Vectors, centre: Vector, *, spread: Vector) -> npt.NDArray[np.float32]:
    """Return for each vector what makes its code as long as itself, seen from the centre.

    A code stands for `spread` with the signs of its bits. The factor is chosen such that the
    product with the vector itself is exact (as in RaBitQ, arXiv:2405.12497).
    """
    apart = vectors - centre
    along, squares = dots(np.abs(apart), spread), dots(apart, apart)
    factors: npt.NDArray[np.float32] = np.divide(
        squares, along, out=np.zeros_like(squares), where=along > 0
    )
    return factors


def signed_sums(codes: npt.NDArray[np.uint64], weights: Vector) -> npt.NDArray[np.float32]:
    """Return for each row of `codes` the sum of the weights, negative where its bit is 0."""
    bits = np.unpackbits(codes.view(np.uint8), axis=1, count=len(weights))
    return 2 * dots(bits.astype(np.float32), weights) - np.float32(weights.sum())


def closest(distances: npt.NDArray[np.uint16], count: int) -> npt.NDArray[np.intp]:
    """Return the positions of the `count` smallest distances, and of all that tie with the last."""
    within = np.cumsum(np.bincount(distances))
    return np.flatnonzero(distances <= np.searchsorted(within, count))


def propose_by(
    nearest: Callable[[Fingerprint, Vector], VectorPool],
    keyword: KeywordPool,
    *,
    asked: SpaceVectors | None,
    space: Space | None,
) -> Proposals:
    """Return what both legs propose, asking for each vector that fits its space by itself."""
    if asked is None or not keyword.corpus.chunks:
        return Proposals(keyword, None)
    fits = space is None or space.dimensions in (0, asked.vectors.shape[1])
    pools = (nearest(asked.fingerprint, each) for each in (asked.vectors if fits else ()))
    return Proposals(keyword, Near(space, tuple(pools)))
