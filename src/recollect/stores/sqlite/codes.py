"""Binary codes of vectors: in the file in segments, and in the process in one growing matrix.

A coding is all codes that were made with one centre. Its number is random, and its codes are only
ever appended. So what a process has read of a coding stays right, in any file and at any time: a
query reads what was appended since.
"""

from __future__ import annotations

import itertools
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.sqlite.rows import (
    RowError,
    check_tail,
    columns_of,
    ids_in,
    stack,
    text_in,
)
from recollect.stores.vectors import encode, scales

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw
    import numpy.typing as npt

    from recollect.types import Vector, Vectors

    Texts = npt.NDArray[np.int64]
    Scales = npt.NDArray[np.float32]
    Words = npt.NDArray[np.uint64]

SEGMENT = 1024
"""Codes per row: few enough to write the last row again with each new vector, enough to read fast.
"""
ENTRY = np.dtype([("text", "<u4"), ("scale", "<f4")])
"""What is stored beside each code: the number of its text, and the length it stands for."""
_KEPT = 2  # codings that a process keeps: that of the published space, and of the next one
_SAMPLE = 16_384  # vectors that the centre is computed from
_GROWTH = 4  # a matrix that is full is copied into one larger by this fraction of its size

_SPACE = "SELECT dimensions, vectors, coded, coding, centre FROM spaces WHERE id = ?"
_ALL = f"""
    SELECT {text_in("id")}, vector, tail FROM vectors WHERE id BETWEEN {ids_in("?1")} ORDER BY id
"""  # noqa: S608 - our own column names
_ENDS = f"SELECT min(id), max(id) FROM vectors WHERE id BETWEEN {ids_in('?1')}"  # noqa: S608
_SPREAD = """
    SELECT v.id, v.vector, v.tail FROM json_each(?) asked JOIN vectors v
    ON v.id = (SELECT min(w.id) FROM vectors w WHERE w.id >= asked.value)
"""
_SEGMENTS = """
    SELECT segment, ids, codes, tail FROM codes WHERE space = ? AND segment >= ? ORDER BY segment
"""
_LAST = f"{_SEGMENTS} DESC LIMIT 1"
_PUT = "INSERT OR REPLACE INTO codes (space, segment, ids, codes) VALUES (?, ?, ?, ?)"
_RECODED = "UPDATE spaces SET coded = ?, coding = random(), centre = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Coding:
    """How the vectors of a space are coded."""

    space: int
    number: int
    vectors: int
    """How many the space has: each has a code."""
    coded: int
    """How many it had when the centre was computed."""
    centre: Vector
    spread: Vector
    """How far vectors are from the centre, by dimension, on average."""


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of a space, and the texts whose vectors they stand for."""

    texts: Texts
    scales: Scales
    """See `stores.vectors.scales`."""
    words: Words
    """Word by code."""


def coding_of(connection: apsw.Connection, space: int) -> tuple[int, Coding | None]:
    """Return how many vectors a space has, and how they are coded."""
    row = connection.execute(_SPACE, (space,)).fetchone()
    if row is None:
        raise RowError(f"space {space} is missing")
    dimensions, vectors, coded, number, stored = row
    if stored is None:
        return vectors, None
    [both] = stack([stored], dimensions=2 * dimensions)
    centre, spread = both[:dimensions], both[dimensions:]
    return vectors, Coding(space, number, vectors, coded, centre, spread)


def recode(connection: apsw.Connection, *, space: int, vectors: int) -> None:
    """Compute the centre of a space again and write all its codes."""
    dimensions = connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space,)).get
    first, last = connection.execute(_ENDS, (space,)).get
    places = np.linspace(first, last, min(vectors, _SAMPLE)).astype(np.int64)
    asked = str(places.tolist())
    _, sample = columns(connection.execute(_SPREAD, (asked,)), dimensions=dimensions)
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = np.abs(sample - centre).mean(axis=0)
    connection.execute("DELETE FROM codes WHERE space = ?", (space,))
    rows = connection.execute(_ALL, (space,))
    for segment, part in enumerate(iter(lambda: list(itertools.islice(rows, SEGMENT)), [])):
        texts, whole = columns(part, dimensions=dimensions)
        entries, words = made(texts, whole, centre=centre, spread=spread)
        connection.execute(_PUT, (space, segment, entries.tobytes(), words.tobytes()))
    connection.execute(_RECODED, (vectors, centre.tobytes() + spread.tobytes(), space))


def append(connection: apsw.Connection, coding: Coding, *, texts: Texts, vectors: Vectors) -> None:
    """Write the codes of new vectors."""
    entries, words = made(texts, vectors, centre=coding.centre, spread=coding.spread)
    row = connection.execute(_LAST, (coding.space, 0)).fetchone()
    if row is None:
        raise RowError(f"the codes of space {coding.space} are missing")
    segment, before, coded = _segment(row, width=words.shape[1])
    entries, words = np.concatenate([before, entries]), np.concatenate([coded, words])
    connection.executemany(
        _PUT,
        [
            (coding.space, segment + offset, entries[part].tobytes(), words[part].tobytes())
            for offset, start in enumerate(range(0, len(entries), SEGMENT))
            for part in [slice(start, start + SEGMENT)]
        ],
    )


def made(
    texts: Texts, vectors: Vectors, *, centre: Vector, spread: Vector
) -> tuple[npt.NDArray[np.void], Words]:
    """Return the entries and the codes of vectors."""
    entries = np.empty(len(texts), dtype=ENTRY)
    entries["text"] = texts
    entries["scale"] = scales(vectors, centre, spread=spread)
    return entries, encode(vectors, centre)


def forget_codes(connection: apsw.Connection, *, space: int) -> None:
    """Delete the codes of a space; until there are new ones, its vectors are compared in full."""
    connection.execute("DELETE FROM codes WHERE space = ?", (space,))
    connection.execute("UPDATE spaces SET coded = 0, centre = NULL WHERE id = ?", (space,))


def columns(rows: Iterable[tuple[int, bytes, int]], *, dimensions: int) -> tuple[Texts, Vectors]:
    """Return texts and vectors of rows of text, vector and tail."""
    texts, vectors, tails = columns_of(list(rows), count=3)
    return np.array(texts, dtype=np.int64), stack(vectors, tails, dimensions=dimensions)


class CodeCache:
    """The codes that a process has read; its threads share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[int, _Matrix] = {}

    def read(self, connection: apsw.Connection, coding: Coding) -> Codes:
        """Return the codes of the caller's snapshot, reading those that are not known yet."""
        with self._lock:
            matrix = self._kept.pop(coding.number, None) or _Matrix(coding)
            matrix.extend(connection, coding)  # if it fails, the matrix is gone
            self._kept[coding.number] = matrix
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
            return matrix.codes(coding.vectors)


class _Matrix:
    """Codes with room for more. What was handed out is never changed."""

    def __init__(self, coding: Coding) -> None:
        width = encode(coding.centre, coding.centre).shape[0]
        self._texts = np.empty(coding.vectors + SEGMENT, dtype=np.int64)
        self._scales = np.empty(len(self._texts), dtype=np.float32)
        self._words = np.empty((width, len(self._texts)), dtype=np.uint64)
        self._count = 0

    def codes(self, count: int) -> Codes:
        """Return the first codes: a snapshot may be older than what others have read."""
        return Codes(self._texts[:count], self._scales[:count], self._words[:, :count])

    def extend(self, connection: apsw.Connection, coding: Coding) -> None:
        if self._count >= coding.vectors:
            return
        rows = connection.execute(_SEGMENTS, (coding.space, self._count // SEGMENT))
        for row in rows:
            segment, entries, words = _segment(row, width=len(self._words))
            fresh = slice(self._count - segment * SEGMENT, None)
            if fresh.start < 0:
                raise RowError(f"codes before segment {segment} are missing")
            self._add(entries[fresh], words[fresh])
        if self._count != coding.vectors:
            raise RowError("codes and vectors differ in number")

    def _add(self, entries: npt.NDArray[np.void], words: Words) -> None:
        end = self._count + len(entries)
        if end > len(self._texts):
            more = SEGMENT + len(self._texts) // _GROWTH
            self._texts = np.concatenate([self._texts, np.empty(more, dtype=np.int64)])
            self._scales = np.concatenate([self._scales, np.empty(more, dtype=np.float32)])
            room = np.empty((len(self._words), more), dtype=np.uint64)
            self._words = np.concatenate([self._words, room], axis=1)
        self._texts[self._count : end] = entries["text"]
        self._scales[self._count : end] = entries["scale"]
        self._words[:, self._count : end] = words.T
        self._count = end


def _segment(
    row: tuple[int, bytes, bytes, int], *, width: int
) -> tuple[int, npt.NDArray[np.void], Words]:
    segment, ids, codes, tail = row
    check_tail(tail)
    entries = np.frombuffer(ids, dtype=ENTRY)
    words = np.frombuffer(codes, dtype=np.uint64)
    if len(words) != len(entries) * width:
        raise RowError("codes and texts differ in number")
    return segment, entries, words.reshape(len(entries), width)
