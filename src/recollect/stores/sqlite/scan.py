"""Finds chunks by vector: with numpy, or in SQL with the extension sqlite-vec, exact but slower.

With numpy a small space is compared exactly, a large one in three stages: the codes of all texts
are compared, the nearest ones estimated with the question's own numbers, and of those, best first,
vectors are compared until no other is likely to be among the best.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.records import dataclass
from recollect.stores.base import VectorPool
from recollect.stores.sqlite.codes import ALL_VECTORS, CodeCache, coding_of, columns
from recollect.stores.sqlite.rows import RowError, check_tails, vector_id
from recollect.stores.vectors import closest, dots, encode, hamming, signed_sums, top
from recollect.types import ChunkKey

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.stores.postings import Mask
    from recollect.stores.sqlite.codes import Codes, Coding, Texts
    from recollect.stores.sqlite.filters import Filter
    from recollect.types import Vector

    Ranked = tuple[Texts, npt.NDArray[np.float32]]
    """Texts, best first, with the cosines of their vectors, or with estimates of those."""

EXACT_LIMIT = 1024
"""Vectors that are read and compared in full."""
ESTIMATED = 4000
"""Nearest codes that are estimated."""
_FIRST = 250  # vectors read before the first look at how good the estimates are
_SURE = 24  # best texts that have to be right
_MARGIN = 3.0  # standard errors of an estimate that count as likely
_FARTHEST = np.uint16(np.iinfo(np.uint16).max)

_OF_TEXTS = f"""
    SELECT asked.value, v.vector, v.tail FROM json_each(?2) asked
    JOIN vectors v ON v.id = {vector_id("?1", "asked.value")}
"""  # noqa: S608 - our own column names


@dataclass(frozen=True, slots=True)
class NumpyScan:
    """The default vector engine."""

    exact_limit: int = EXACT_LIMIT
    name: str = "numpy"
    cache: CodeCache = field(default_factory=CodeCache)

    def prepare(self, connection: apsw.Connection) -> None:
        """Do nothing: numpy needs no extension."""

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, seen: Filter, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""
        coding = coding_of(connection, space)
        if coding is None:
            return VectorPool((), ())
        allowed = seen.texts()
        if coding.vectors <= self.exact_limit:
            found = _closest_of_all(connection, space=space, vector=vector, allowed=allowed)
        else:
            shortlist = self._shortlist(connection, coding, vector=vector, allowed=allowed)
            found = _compared(connection, shortlist, space=space, vector=vector, limit=limit)
        return _pool(found, seen=seen, limit=limit)

    def _shortlist(
        self, connection: apsw.Connection, coding: Coding, *, vector: Vector, allowed: Mask | None
    ) -> Ranked:
        """Return the texts whose codes are nearest."""
        codes = self.cache.read(connection, coding)
        inside = None if allowed is None else _inside(allowed, codes.texts)
        places = _nearest_codes(codes, encode(vector, coding.centre), inside)
        nearest = np.ascontiguousarray(codes.words[:, places].T)
        estimates = signed_sums(nearest, vector * coding.spread) * codes.scales[places]
        order = np.argsort(-estimates)
        return codes.texts[places[order]], estimates[order]


def _inside(allowed: Mask, texts: Texts) -> Mask:
    """Return which of the texts are allowed; the mask ends with the last one that is."""
    beyond = int(texts.max(initial=0)) + 1 - len(allowed)
    inside: Mask = np.pad(allowed, (0, max(beyond, 0))).take(texts)
    return inside


def _nearest_codes(
    codes: Codes, code: npt.NDArray[np.uint64], inside: Mask | None
) -> npt.NDArray[np.intp]:
    """Return the places of the codes that differ least, of all or of those inside."""
    distances = hamming(codes.words, code)
    if inside is None:
        return closest(distances, ESTIMATED)
    np.copyto(distances, _FARTHEST, where=~inside)
    places = closest(distances, ESTIMATED)
    return places[inside[places]]


def _closest_of_all(
    connection: apsw.Connection, *, space: int, vector: Vector, allowed: Mask | None
) -> Ranked:
    texts, vectors = columns(connection.execute(ALL_VECTORS, (space,)), dimensions=len(vector))
    cosines = dots(vectors, vector)
    if allowed is not None:
        inside = _inside(allowed, texts)
        texts, cosines = texts[inside], cosines[inside]
    order = top(cosines, len(cosines))
    return texts[order], cosines[order]


def _compared(
    connection: apsw.Connection, shortlist: Ranked, *, space: int, vector: Vector, limit: int
) -> Ranked:
    """Compare texts exactly, in the order of their estimates, while more are likely to matter."""
    texts, estimates = shortlist
    cosines = np.zeros(0, dtype=np.float32)
    wanted = min(len(texts), max(_FIRST, limit + limit // 2))
    while len(cosines) < wanted:
        part = texts[len(cosines) : wanted]
        asked = np.sort(part)  # in the order of the file: neighbours share pages
        rows = connection.execute(_OF_TEXTS, (space, str(asked.tolist())))
        found, vectors = columns(rows, dimensions=len(vector))
        if len(found) != len(asked):
            raise RowError("a code has no vector")
        own = dots(vectors, vector)[np.searchsorted(asked, part)]
        cosines = np.concatenate([cosines, own])
        likely = _likely(estimates, cosines, best=min(limit, _SURE))
        wanted = min(likely, 2 * len(cosines))
    order = top(cosines, len(cosines))
    return texts[order], cosines[order]


def _likely(
    estimates: npt.NDArray[np.float32], cosines: npt.NDArray[np.float32], *, best: int
) -> int:
    """Return how many estimates are likely among the best, by how far off the first ones were."""
    if len(cosines) < best:
        return len(cosines)
    known = estimates[: len(cosines)]
    deviations = known - known.mean()
    variance = float(np.vecdot(deviations, deviations))
    slope = float(np.vecdot(deviations, cosines)) / variance if variance else 0.0
    if slope <= 0:
        return len(estimates)
    predicted = cosines.mean() + slope * (estimates - known.mean())
    error = float(np.std(cosines - predicted[: len(cosines)]))
    worst = np.partition(cosines, -best)[-best]
    return int(np.count_nonzero(predicted > worst - _MARGIN * error))


def _pool(found: Ranked, *, seen: Filter, limit: int) -> VectorPool:
    """Return the chunks of the closest texts; texts that no chunk in scope has drop out."""
    keys: list[ChunkKey] = []
    cosines: list[float] = []
    texts, exact = found
    for start in range(0, len(texts), limit):
        places, chunks = seen.chunks_with(texts[start : start + limit])
        keys += map(ChunkKey, chunks.tolist())
        cosines += exact[start + places].tolist()
        if len(keys) >= limit:
            break
    return VectorPool(tuple(keys[:limit]), tuple(cosines[:limit]))


_NAME = "sqlite-vec"
_NEAREST = f"""
    SELECT c.id, 1 - vec_distance_cosine(v.vector, ?) AS cosine, v.tail FROM chunks c
    JOIN vectors v ON v.id = {vector_id("?", "c.text_id")}
    WHERE {{condition}} ORDER BY cosine DESC, c.id LIMIT ?
"""  # noqa: S608 - our own column names


class EngineMissingError(Exception):
    """The extension is not installed or does not load."""


def usable_engine(name: str) -> tuple[Engine, tuple[str, ...]]:
    """Return the named engine, or the default one with a notice if it cannot be used here."""
    if name != _NAME:
        return NumpyScan(), ()
    try:
        SqliteVec().prepare(apsw.Connection(":memory:"))
    except EngineMissingError as error:
        notice = (
            f'vector.engine is "sqlite-vec", but sqlite-vec cannot be loaded ({error}): numpy '
            "compares the vectors instead. Run `pip install sqlite-vec`, or remove the setting."
        )
        return NumpyScan(), (notice,)
    return SqliteVec(), ()


@dataclass(frozen=True, slots=True)
class SqliteVec:
    """The vector engine that computes cosines in SQL."""

    name: str = _NAME

    def prepare(self, connection: apsw.Connection) -> None:
        """Load the extension."""
        try:
            import sqlite_vec  # noqa: PLC0415 - an optional dependency

            connection.enable_load_extension(True)
            try:
                connection.load_extension(sqlite_vec.loadable_path())
            finally:
                connection.enable_load_extension(False)  # no SQL may load another one
        except (ImportError, AttributeError, OSError, apsw.Error) as error:
            raise EngineMissingError(str(error)) from error

    def nearest(
        self, connection: apsw.Connection, *, space: int, vector: Vector, seen: Filter, limit: int
    ) -> VectorPool:
        """Return the chunks in scope nearest to the vector, best first."""
        condition, bindings = seen.condition()
        rows = list(
            connection.execute(
                _NEAREST.format(condition=condition), (vector.tobytes(), space, *bindings, limit)
            )
        )
        check_tails(row[2] for row in rows)
        return VectorPool(
            keys=tuple(ChunkKey(row[0]) for row in rows), cosines=tuple(row[1] for row in rows)
        )


Engine = NumpyScan | SqliteVec
"""A way to search vectors inside the file. Called within the store's transactions."""
