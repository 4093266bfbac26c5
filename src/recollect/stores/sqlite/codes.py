"""Binary codes of vectors: in the file in segments, and in the process in one matrix.

A coding is all codes made with one centre. Its number is random and its codes are only ever
appended, so what a process has read of it stays right in any file: a query reads the rest.
"""

from __future__ import annotations

import itertools
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.sqlite.rows import RowError, check_tail, ids_in, stack, text_in
from recollect.stores.vectors import encode, scales

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
_REGROWTH = 4  # the centre is computed again when the space has grown by this factor

_SPACE = "SELECT dimensions, vectors, coding, centre FROM spaces WHERE id = ?"
ALL_VECTORS = f"""
    SELECT {text_in("id")}, vector, tail FROM vectors WHERE id BETWEEN {ids_in("?1")} ORDER BY id
"""  # noqa: S608 - our own column names
"""Yields the text, the vector and the tail of all vectors of a space."""
_ENDS = f"SELECT min(id), max(id) FROM vectors WHERE id BETWEEN {ids_in('?1')}"  # noqa: S608
_SPREAD = """
    SELECT v.id, v.vector, v.tail FROM json_each(?) asked JOIN vectors v
    ON v.id = (SELECT min(w.id) FROM vectors w WHERE w.id >= asked.value)
"""
_SEGMENTS = """
    SELECT segment, ids, codes, tail FROM codes WHERE space = ? AND segment >= ? ORDER BY segment
"""
_LAST = f"{_SEGMENTS} DESC LIMIT 1"
_TEXTS = "SELECT ids FROM codes WHERE space = ?"
_PUT = "INSERT OR REPLACE INTO codes (space, segment, ids, codes) VALUES (?, ?, ?, ?)"
_RECODED = "UPDATE spaces SET coded = ?, coding = random(), centre = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Coding:
    """How the vectors of a space are coded."""

    space: int
    number: int
    vectors: int
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


def coding_of(connection: apsw.Connection, space: int) -> Coding | None:
    """Return how the vectors of a space are coded; None if it has none."""
    row = connection.execute(_SPACE, (space,)).fetchone()
    if row is None:
        raise RowError(f"space {space} is missing")
    dimensions, vectors, number, stored = row
    if not vectors:
        return None
    [both] = stack([stored], dimensions=2 * dimensions)
    return Coding(space, number, vectors, both[:dimensions], both[dimensions:])


def coded_texts(connection: apsw.Connection, space: int | None) -> Texts:
    """Return the texts that have a vector in a space, without reading the vectors."""
    stored = b"".join(ids for (ids,) in connection.execute(_TEXTS, (space,)))
    return np.frombuffer(stored, dtype=ENTRY)["text"].astype(np.int64)


def add_codes(
    connection: apsw.Connection, *, space: int, texts: Sequence[int], vectors: Vectors
) -> None:
    """Write the codes of vectors just stored, in the same transaction."""
    sizes = "SELECT vectors, coded FROM spaces WHERE id = ?"
    count, coded = connection.execute(sizes, (space,)).get
    coding = coding_of(connection, space) if count <= _REGROWTH * coded else None
    if coding is None:
        recode(connection, space=space)
    else:
        _append(connection, coding, texts=np.array(texts, dtype=np.int64), vectors=vectors)


def recode(connection: apsw.Connection, *, space: int) -> None:
    """Compute the centre of a space again and write all its codes, in the caller's transaction."""
    sizes = "SELECT dimensions, vectors FROM spaces WHERE id = ?"
    dimensions, vectors = connection.execute(sizes, (space,)).get
    connection.execute("DELETE FROM codes WHERE space = ?", (space,))
    if not vectors:
        connection.execute(_RECODED, (0, None, space))
        return
    first, last = connection.execute(_ENDS, (space,)).get
    places = np.linspace(first, last, min(vectors, _SAMPLE)).astype(np.int64)
    asked = str(places.tolist())
    _, sample = columns(connection.execute(_SPREAD, (asked,)), dimensions=dimensions)
    centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = np.abs(sample - centre).mean(axis=0)
    rows = connection.execute(ALL_VECTORS, (space,))
    for segment, part in enumerate(iter(lambda: list(itertools.islice(rows, SEGMENT)), [])):
        texts, whole = columns(part, dimensions=dimensions)
        entries, words = made(texts, whole, centre=centre, spread=spread)
        connection.execute(_PUT, (space, segment, entries.tobytes(), words.tobytes()))
    connection.execute(_RECODED, (vectors, centre.tobytes() + spread.tobytes(), space))


def _append(connection: apsw.Connection, coding: Coding, *, texts: Texts, vectors: Vectors) -> None:
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


def columns(rows: Iterable[tuple[int, bytes, int]], *, dimensions: int) -> tuple[Texts, Vectors]:
    """Return texts and vectors of rows of text, vector and tail."""
    texts, vectors, tails = tuple(zip(*rows, strict=True)) or ((), (), ())
    return np.array(texts, dtype=np.int64), stack(vectors, tails, dimensions=dimensions)


class CodeCache:
    """The codes that a process has read; its threads share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[int, Codes] = {}

    def read(self, connection: apsw.Connection, coding: Coding) -> Codes:
        """Return the codes of the caller's snapshot, reading those that are not known yet."""
        with self._lock:
            known = self._kept.pop(coding.number, None)  # if reading fails, they are gone
            if known is None or len(known.texts) < coding.vectors:
                known = _extended(connection, coding, known)
            self._kept[coding.number] = known
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        # A snapshot may be older than what others have read.
        own = slice(coding.vectors)
        return Codes(known.texts[own], known.scales[own], known.words[:, own])


def _extended(connection: apsw.Connection, coding: Coding, known: Codes | None) -> Codes:
    """Return all codes; those known are copied, and the others are read."""
    width = len(encode(coding.centre, coding.centre))
    first, skipped = divmod(0 if known is None else len(known.texts), SEGMENT)
    read = [
        _segment(row, width=width) for row in connection.execute(_SEGMENTS, (coding.space, first))
    ]
    if [number for number, *_ in read] != list(range(first, 1 + (coding.vectors - 1) // SEGMENT)):
        raise RowError(f"codes of space {coding.space} are missing")
    entries = np.concatenate([part for _, part, _ in read])[skipped:]
    words = np.concatenate([part for _, _, part in read])[skipped:]
    parts = [] if known is None else [known]
    parts.append(
        Codes(entries["text"].astype(np.int64), entries["scale"], np.ascontiguousarray(words.T))
    )
    found = Codes(
        np.concatenate([part.texts for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.words for part in parts], axis=1),
    )
    if len(found.texts) != coding.vectors:
        raise RowError("codes and vectors differ in number")
    return found


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
