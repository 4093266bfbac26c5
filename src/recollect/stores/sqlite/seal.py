"""Writes segments: seals the tail, merges pieces, and marks chunks as removed.

Everything here happens in the transaction that changes the chunks, so that the keyword index and
the chunks never disagree. Storing a document writes no postings. They are written when the tail is
long enough, for all its chunks at once, and again when pieces are merged: a few times in the life
of a chunk.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.postings import LARGEST, blocks, due, moved
from recollect.stores.sqlite.rows import RowError
from recollect.stores.sqlite.segments import (
    COLUMNS,
    JOINT,
    NAMES,
    REMOVED,
    TERM_BITS,
    ids_of,
    places_in,
    read_tail,
    sealed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import apsw
    import numpy.typing as npt

    from recollect.stores.postings import Entries
    from recollect.stores.sqlite.segments import Column, Sealed


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many chunks the pieces have."""

    tail: int = 512
    """Most chunks that wait for a segment: a query of a new process reads them all."""
    tiers: tuple[int, ...] = (4096, 32_768, LARGEST)
    """The newest pieces below one of these are merged when together they reach it."""


SIZES = Sizes()
_AT_ONCE = 8192  # chunks whose entries are sorted together: bounds memory

_LIVE = "SELECT ifnull(sum(chunks - removed), 0), ifnull(max(last), 0) FROM segments"
_ADD = "INSERT INTO segments (token, first, last, chunks) VALUES (?, ?, ?, ?)"
_PUT_COLUMN = "INSERT OR REPLACE INTO columns (segment, name, data) VALUES (?, ?, ?)"
_PUT_BLOCK = "INSERT INTO postings (id, terms, sizes, places, frequencies) VALUES (?, ?, ?, ?, ?)"
_REMOVE = "UPDATE segments SET removed = removed + ?, stamp = ? WHERE id = ?"


def seal_tail(connection: apsw.Connection, *, longest: int | None = None) -> None:
    """Make segments of the tail if it is longer than this, or than it may be."""
    chunks = connection.execute("SELECT chunks FROM totals").get
    live, last = connection.execute(_LIVE).get
    if chunks - live <= (SIZES.tail if longest is None else longest):
        return
    while (tail := read_tail(connection, after=last, limit=_AT_ONCE)) is not None:
        last = tail.last
        _write(
            connection,
            ids=ids_of(tail),
            columns={name: tail.column(name) for name in COLUMNS},
            names={name: tail.names(name) for name in NAMES},
            entries=[tail.own],
        )
        _merge_newest(connection)


def remove(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Mark chunks as removed in their segments; those of the tail are in none."""
    gone = np.sort(np.array(ids, dtype=np.int64))
    for segment in sealed(connection):
        places = places_in(segment, gone)
        if not len(places):
            continue
        removed = segment.removed + len(places)
        if removed == segment.chunks:
            _drop(connection, segment)
            continue
        bits = ~segment.read_live()
        if bits[places].any():
            raise RowError("a chunk was removed twice")
        bits[places] = True
        connection.execute(_PUT_COLUMN, (segment.number, REMOVED, np.packbits(bits).tobytes()))
        connection.execute(_REMOVE, (len(places), _random(), segment.number))
    for segment in sealed(connection):
        if segment.removed * 2 > segment.chunks:
            _merge(connection, [segment])


def _random() -> int:
    return int.from_bytes(os.urandom(7))


def _merge_newest(connection: apsw.Connection) -> None:
    """Merge the newest pieces as long as those of one tier fill it."""
    while True:
        pieces = sealed(connection)
        kept = [(piece.chunks, piece.chunks - piece.removed) for piece in pieces]
        run = pieces[due(kept, SIZES.tiers) :]
        if not run:
            return
        _merge(connection, run)


def _merge(connection: apsw.Connection, pieces: Sequence[Sealed]) -> None:
    """Write the chunks that are left in these neighbours as new pieces, as large as possible."""
    kept = [np.flatnonzero(each.read_live()) for each in pieces]
    total = sum(map(len, kept))
    for start in range(0, total, SIZES.tiers[-1]):
        places = _new_places(pieces, kept, start=start)
        _write_merged(connection, pieces, places)
    for piece in pieces:
        _drop(connection, piece)


def _new_places(
    pieces: Sequence[Sealed], kept: Sequence[npt.NDArray[np.int64]], *, start: int
) -> list[npt.NDArray[np.int64]]:
    """Return for each chunk its place in the new piece; -1 if it is not in it."""
    found = []
    before = -start
    for piece, own in zip(pieces, kept, strict=True):
        places = np.full(piece.chunks, -1, dtype=np.int64)
        places[own] = np.arange(before, before + len(own))
        places[(places < 0) | (places >= SIZES.tiers[-1])] = -1
        before += len(own)
        found.append(places)
    return found


def _write_merged(
    connection: apsw.Connection,
    pieces: Sequence[Sealed],
    places: Sequence[npt.NDArray[np.int64]],
) -> None:
    masks = [own >= 0 for own in places]
    columns: dict[str, list[Column]] = {name: [] for name in COLUMNS}
    names: dict[str, list[str]] = {name: [] for name in NAMES}
    for piece, mask in zip(pieces, masks, strict=True):
        for name in ("lengths", "days", "texts"):
            columns[name].append(piece.column(name)[mask])
        used, numbers = np.unique(piece.column("documents")[mask], return_inverse=True)
        columns["documents"].append(numbers + len(names["paths"]))
        for name in NAMES:
            own = piece.names(name)
            names[name] += [own[place] for place in used.tolist()]
    ids = np.concatenate([ids_of(piece)[mask] for piece, mask in zip(pieces, masks, strict=True)])

    def entries() -> Iterator[Entries]:
        for first, last in _ranges(-(-len(ids) // _AT_ONCE)):
            merged = np.concatenate(
                [
                    moved(piece.entries(first, last), own)
                    for piece, own in zip(pieces, places, strict=True)
                ]
            )
            merged.sort()
            yield merged

    _write(
        connection,
        ids=ids,
        columns={name: np.concatenate(own) for name, own in columns.items() if own},
        names=names,
        entries=entries(),
    )


def _write(
    connection: apsw.Connection,
    *,
    ids: npt.NDArray[np.int64],
    columns: Mapping[str, Column],
    names: Mapping[str, list[str]],
    entries: Iterable[Entries],
) -> None:
    """Write a segment; its entries come sorted, in parts by range of terms."""
    first, last = int(ids[0]), int(ids[-1])
    connection.execute(_ADD, (_random(), first, last, len(ids)))
    number = connection.last_insert_rowid()
    numbers = {**columns, "ids": ids - first}
    data = {name: numbers[name].astype(kind).tobytes() for name, kind in COLUMNS.items()} | {
        name: JOINT.join(own).encode() for name, own in names.items()
    }
    connection.executemany(_PUT_COLUMN, [(number, *each) for each in data.items()])
    for part in entries:
        connection.executemany(
            _PUT_BLOCK,
            [
                ((number << TERM_BITS) + int(block.terms[0]), *block.columns())
                for block in blocks(part, chunks=len(ids))
            ],
        )


def _ranges(parts: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that together are all terms, both ends included."""
    bounds = [(1 << TERM_BITS) * part // parts for part in range(parts + 1)]
    for start, end in itertools.pairwise(bounds):
        yield start, end - 1


def _drop(connection: apsw.Connection, piece: Sealed) -> None:
    base = piece.number << TERM_BITS
    connection.execute(
        "DELETE FROM postings WHERE id BETWEEN ? AND ?", (base, base + (1 << TERM_BITS) - 1)
    )
    connection.execute("DELETE FROM columns WHERE segment = ?", (piece.number,))
    connection.execute("DELETE FROM segments WHERE id = ?", (piece.number,))
