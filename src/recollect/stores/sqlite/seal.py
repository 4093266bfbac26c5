"""Writes segments: seals the tail, merges pieces, and marks chunks as removed.

That happens in the transaction that changes the chunks, so that the two never disagree. Postings
are written when the tail is long enough, for all its chunks at once, and when pieces are merged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores.postings import LARGEST, blocks, due
from recollect.stores.sqlite.rows import RowError
from recollect.stores.sqlite.segments import (
    COLUMNS,
    JOINT,
    NAMES,
    REMOVED,
    TERM_BITS,
    places_in,
    read_tail,
    sealed,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from recollect.stores.sqlite.segments import Sealed, Tail


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many chunks the pieces have."""

    tail: int = 512
    """Most chunks that wait for a segment: a query of a new process reads them all."""
    tiers: tuple[int, ...] = (4096, 32_768, LARGEST)
    """The newest pieces below one of these are merged when together they reach it."""


SIZES = Sizes()
_AT_ONCE = 8192  # chunks of the tail that are sealed together

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
        _write(connection, tail)
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
    after, last = pieces[0].first - 1, pieces[-1].last
    left = sum(each.chunks - each.removed for each in pieces)
    for piece in pieces:
        _drop(connection, piece)
    while left:
        merged = read_tail(connection, after=after, limit=min(left, SIZES.tiers[-1]))
        if merged is None or merged.last > last:
            raise RowError("the chunks of a segment are miscounted")
        _write(connection, merged)
        after, left = merged.last, left - merged.chunks


def _write(connection: apsw.Connection, piece: Tail) -> None:
    """Write chunks that were read as a segment."""
    connection.execute(_ADD, (_random(), piece.first, piece.last, piece.chunks))
    number = connection.last_insert_rowid()
    data = {name: piece.column(name).tobytes() for name in COLUMNS} | {
        name: JOINT.join(piece.names(name)).encode() for name in NAMES
    }
    connection.executemany(_PUT_COLUMN, [(number, *each) for each in data.items()])
    connection.executemany(
        _PUT_BLOCK,
        [
            ((number << TERM_BITS) + int(block.terms[0]), *block.columns())
            for block in blocks(piece.own, chunks=piece.chunks)
        ],
    )


def _drop(connection: apsw.Connection, piece: Sealed) -> None:
    base = piece.number << TERM_BITS
    connection.execute(
        "DELETE FROM postings WHERE id BETWEEN ? AND ?", (base, base + (1 << TERM_BITS) - 1)
    )
    connection.execute("DELETE FROM columns WHERE segment = ?", (piece.number,))
    connection.execute("DELETE FROM segments WHERE id = ?", (piece.number,))
