"""Places vectors on a plane so that neighbours stay neighbours, as LargeVis and UMAP do.

The two straight axes (PCA) on which it starts hold an eighth of what the vectors of texts differ
in. Numbers: docs/decisions/vectors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.types import Vectors

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.intp]

NEIGHBOURS = 15
"""Nearest vectors that a vector is pulled to."""
_FEW_SHARE = 4
"""Divisor of few vectors: every fourth pulls a vector (docs/decisions/vectors.md)."""
MAX_LAID_OUT = 2500
"""Vectors on one map, 6 million cosines; of more, a sample is drawn."""
_MOST_ROUNDS, _LEAST_ROUNDS = 160, 48
_WORK = 90_000  # rounds times vectors: more of them are placed as well in fewer rounds
_PUSHES = 5  # random others that push a point, per neighbour that pulls it
_STEP = 1.0  # of the first round; the last one's is near zero
_MOST_MOVE = 4.0  # of one pull or push
_START = 10.0  # half the width of the starting plane
_MOST_WIDE = 512  # numbers of a vector for exact axes; more are projected to so many
_SEED = 20260201  # any number; fixed, so that the same vectors give the same map


def lay_out(vectors: Vectors) -> Floats:
    """Return a point, between -1 and 1, for each of at most MAX_LAID_OUT vectors."""
    if not len(vectors):
        return np.zeros((0, 2))
    # What all texts have in common says nothing.
    units = _units(vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32))
    start = widest(units)
    if len(vectors) <= 3:  # noqa: PLR2004 - there is nothing to keep apart
        return _scaled(start)
    # If nearly all of a few vectors pulled a vector, its place would say nothing.
    count = min(NEIGHBOURS, max(2, (len(vectors) - 1) // _FEW_SHARE))
    return _scaled(_settled(start, nearest(units, count=count)))


def widest(vectors: Vectors) -> Floats:
    """Return each vector's place on the two axes in which the vectors differ most."""
    centred = vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    if centred.shape[1] > _MOST_WIDE:
        rng = np.random.default_rng(_SEED)
        centred = centred @ rng.normal(size=(centred.shape[1], _MOST_WIDE)).astype(np.float32)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    places: Floats = np.zeros((len(vectors), 2))
    found = centred @ axes[:, :-3:-1]
    places[:, : found.shape[1]] = found
    return places


def nearest(units: Vectors, *, count: int) -> Places:
    """Return for each vector which others have the highest cosines."""
    cosines = units @ units.T
    np.fill_diagonal(cosines, -2.0)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :count]


def evenly(count: int, most: int) -> Places:
    """Return up to `most` places out of `count`, spread evenly from the first to the last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.intp)


def _settled(start: Floats, near: Places) -> Floats:
    """Return the points after each was pulled to its neighbours and pushed from random others."""
    rng = np.random.default_rng(_SEED)
    count, neighbours = near.shape
    tails = np.repeat(np.arange(count), neighbours)
    heads = near.ravel()
    # Points on one spot, such as copies of a note, have no direction to part in.
    places = start / (np.abs(start).max() or 1.0) * _START + rng.normal(0, 1e-3, (count, 2))
    rounds = int(np.clip(_WORK / count, _LEAST_ROUNDS, _MOST_ROUNDS))
    for round_ in range(rounds):
        step = _STEP * (1 - round_ / rounds)
        gap = places[heads] - places[tails]
        pull = gap * (2.0 / (1.0 + np.square(gap).sum(axis=1)))[:, None]
        move = _summed(tails, pull, count) - _summed(heads, pull, count)
        others = rng.integers(count, size=(_PUSHES, len(tails)))
        for chosen in others:
            gap = places[tails] - places[chosen]
            apart = np.square(gap).sum(axis=1)
            push = gap * (2.0 / ((0.01 + apart) * (1.0 + apart)))[:, None]
            move += _summed(tails, np.clip(push, -_MOST_MOVE, _MOST_MOVE), count)
        places = places + step / neighbours * np.clip(move, -_MOST_MOVE * 8, _MOST_MOVE * 8)
    return places


def _summed(at: Places, moves: Floats, count: int) -> Floats:
    return np.stack(
        [np.bincount(at, weights=moves[:, axis], minlength=count) for axis in range(2)], axis=1
    )


def _scaled(places: Floats) -> Floats:
    """Return the points between -1 and 1, with one scale for both axes, to keep distances."""
    low, high = places.min(axis=0), places.max(axis=0)
    half: float = float((high - low).max()) / 2 or 1.0
    scaled: Floats = (places - (low + high) / 2) / half
    return scaled


def _units(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return units
