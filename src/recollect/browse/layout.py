"""Places vectors on a plane so that neighbours stay neighbours, and groups the places.

Two straight axes (PCA) hold an eighth of what the vectors of texts differ in, so most points that
look close are not. Instead, each vector is pulled to its nearest vectors and pushed from random
others, starting on the two axes, as LargeVis and UMAP do. Numbers: docs/decisions/vectors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.types import Vector, Vectors

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.intp]

NEIGHBOURS = 15
"""Nearest vectors that a vector is pulled to, and that trust is measured with."""
_FEW_SHARE = 4
"""Divisor of few vectors: every fourth pulls a vector (docs/decisions/vectors.md)."""
MAX_LAID_OUT = 2500
"""Vectors laid out together, 6 million cosines; further ones go where their nearest are."""
_MOST_ROUNDS, _LEAST_ROUNDS = 160, 48
_WORK = 90_000  # rounds times vectors: more of them are placed as well in fewer rounds
_PUSHES = 5  # random others that push a point, per neighbour that pulls it
_STEP = 1.0  # of the first round; the last one's is near zero
_MOST_MOVE = 4.0  # of one pull or push
_START = 10.0  # half the width of the starting plane
_AT_ONCE = 1024  # rows of cosines held at a time
_AXIS_ROUNDS = 12  # until the axes no longer turn
_BLOCK = 8  # directions followed at once, to be sure of two
_SAMPLE = 400  # points that trust is measured on
_SEED = 20260201  # any number; fixed, so that the same vectors give the same map
_GROUP_ROUNDS = 20
_GROUP_SIZE = 24  # points in a group, about, of a small map
_MOST_GROUPS = 12


@dataclass(frozen=True, slots=True)
class PlaneLayout:
    """Where vectors are on the plane, between -1 and 1."""

    centre: Vector
    """Subtracted from every vector: what all texts have in common says nothing."""
    units: Vectors
    """The vectors that were laid out together, centred, of length 1."""
    places: Floats
    """A point for each of them."""

    def place(self, vectors: Vectors) -> Floats:
        """Return a point for each of some more vectors: the middle of its nearest ones."""
        if not len(self.places):
            return np.zeros((len(vectors), 2))
        near, cosines = nearest(_units(vectors - self.centre), self.units, count=3)
        weights = np.maximum(cosines, 0.0) ** 4 + 1e-9
        weights /= weights.sum(axis=1, keepdims=True)
        found: Floats = (self.places[near] * weights[:, :, None]).sum(axis=1)
        return found


def lay_out(vectors: Vectors) -> PlaneLayout:
    """Return the layout of at most MAX_LAID_OUT vectors."""
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    units = _units(vectors - centre)
    start = widest(units)
    if len(vectors) <= 3:  # noqa: PLR2004 - there is nothing to keep apart
        return PlaneLayout(centre, units, _scaled(start))
    # If nearly all of a few vectors pulled a vector, its place would say nothing.
    count = min(NEIGHBOURS, max(2, (len(vectors) - 1) // _FEW_SHARE))
    near, _ = nearest(units, units, count=count, skip_self=True)
    return PlaneLayout(centre, units, _scaled(_settled(start, near)))


def widest(vectors: Vectors) -> Floats:
    """Return each vector's place on the two axes in which the vectors differ most.

    By subspace iteration (Halko, Martinsson and Tropp 2011): an exact SVD takes seconds if a model
    has thousands of dimensions.
    """
    centred = vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    width = vectors.shape[1]
    basis = np.random.default_rng(_SEED).normal(size=(width, min(_BLOCK, width)))
    basis = basis.astype(np.float32)
    for _ in range(_AXIS_ROUNDS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    found = (turned @ basis.T)[:2]
    axes = np.zeros((2, width))
    axes[: len(found)] = found
    # A direction and its opposite are equally right: make the largest part of each positive.
    largest = np.abs(axes).argmax(axis=1)
    axes[axes[np.arange(2), largest] < 0] *= -1
    places: Floats = centred.astype(np.float64) @ axes.T
    return places


def nearest(
    asked: Vectors, units: Vectors, *, count: int, skip_self: bool = False
) -> tuple[Places, Floats]:
    """Return for each vector which of `units` have the highest cosines, best first, and those."""
    count = min(count, len(units) - skip_self)
    near = np.empty((len(asked), count), np.intp)
    best = np.empty((len(asked), count))
    for start in range(0, len(asked), _AT_ONCE):
        cosines = asked[start : start + _AT_ONCE] @ units.T
        rows = np.arange(len(cosines))[:, None]
        if skip_self:
            cosines[rows[:, 0], start + rows[:, 0]] = -2.0
        found = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        found = found[rows, np.argsort(-cosines[rows, found], axis=1, kind="stable")]
        near[start : start + _AT_ONCE] = found
        best[start : start + _AT_ONCE] = cosines[rows, found]
    return near, best


def trust(vectors: Vectors, places: Floats) -> float:
    """Return the trustworthiness of a map, from 0 to 1 (Venna and Kaski 2001), on a sample.

    1 if the points nearest to a point are its nearest by meaning; about 0.5 if they are random.
    """
    count, k = len(vectors), min(NEIGHBOURS, (len(vectors) - 1) // 2)
    if k < 1 or 2 * count - 3 * k - 1 <= 0:
        return 1.0
    sample = evenly(count, _SAMPLE)
    units = _units(vectors - vectors.mean(axis=0, dtype=np.float64).astype(np.float32))
    rows = np.arange(len(sample))[:, None]
    distances = -(units[sample] @ units.T)
    distances[rows[:, 0], sample] = -np.inf
    ranks = np.empty(distances.shape, np.intp)
    ranks[rows, np.argsort(distances, axis=1, kind="stable")] = np.arange(count)
    apart = np.square(places[sample][:, None, :] - places[None, :, :]).sum(axis=2)
    apart[rows[:, 0], sample] = np.inf
    shown = np.argpartition(apart, k - 1, axis=1)[:, :k]
    strangers = np.maximum(ranks[rows, shown] - k, 0).sum()
    return float(1 - 2 * strangers / (len(sample) * k * (2 * count - 3 * k - 1)))


def grouped(places: Floats) -> Places:
    """Return the number of the group that each point of a map is in (k-means)."""
    count = len(places)
    wanted = int(np.clip(round(count / _GROUP_SIZE), 1, _MOST_GROUPS))
    # The first centre is the middle; each next one is the point farthest from all before.
    centres = places.mean(axis=0, keepdims=True)
    while len(centres) < wanted:
        centres = np.vstack([centres, places[_distances(places, centres).min(axis=1).argmax()]])
    groups = np.zeros(count, np.intp)
    for _ in range(_GROUP_ROUNDS):
        groups = _distances(places, centres).argmin(axis=1)
        sizes = np.bincount(groups, minlength=wanted)
        for axis in range(2):
            sums = np.bincount(groups, weights=places[:, axis], minlength=wanted)
            centres[:, axis] = np.where(sizes, sums / np.maximum(sizes, 1), centres[:, axis])
    return groups


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


def _distances(places: Floats, centres: Floats) -> Floats:
    found: Floats = np.square(places[:, None, :] - centres[None, :, :]).sum(axis=2)
    return found
