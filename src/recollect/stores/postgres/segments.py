"""Segments: the chunks of a tenant in pieces, with their postings in blocks of a row each.

As in the file store, a piece never changes but for the chunks removed from it, and the newest
chunks are in none: they are the tail, which is read from their bags. Whoever changes the chunks
writes the pieces in the same transaction, under the lock of the tenant, so a snapshot has both or
neither. A piece is always made from the bags of its chunks, also when pieces are merged: no
postings are read to write others. Servers keep nothing of what they read.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.stores import postings
from recollect.stores.postgres.connect import run
from recollect.stores.postings import PostingsBlock, blocks, due, pack_bags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from recollect.stores.postgres.connect import Connection, Row
    from recollect.stores.postings import Entries, Mask, Postings

    Ids = npt.NDArray[np.int64]

TAIL = 64
"""Most chunks that wait for a piece: every question reads their bags."""
TIERS = (512, 4096)
"""The newest pieces below one of these are merged when together they reach it."""
_BLOCK_BYTES = 1500  # five rows a page; a question reads one for each of its terms and pieces
_LAST = (1 << 63) - 1  # of all ids
_LONGEST = 65_535  # a longer chunk is scored as one of this length

_PIECES = "SELECT first, chunks, lengths, ids, removed FROM segments WHERE tenant = %s ORDER BY 1"
# The block of a term is the last that begins with it or one before.
_BLOCKS = """
    WITH found AS (
        SELECT DISTINCT s.first AS segment, (
            SELECT max(p.term) FROM postings p
            WHERE p.tenant = %s AND p.segment = s.first AND p.term <= asked.term
        ) AS term
        FROM segments s, unnest(%s::int8[]) AS asked (term) WHERE s.tenant = %s
    )
    SELECT p.segment, p.terms, p.sizes, p.places, p.frequencies
    FROM found f JOIN postings p ON p.tenant = %s AND p.segment = f.segment AND p.term = f.term
    ORDER BY p.segment, p.term
"""
_TAIL = """
    SELECT c.id, c.length, c.bag FROM chunks c WHERE c.tenant = %s AND c.id > coalesce(
        (SELECT max(last) FROM segments WHERE tenant = %s), 0) ORDER BY c.id
"""
HELD = """
    SELECT first, last, chunks, chunks - octet_length(removed) / 8 FROM segments
    WHERE tenant = %s ORDER BY first
"""
"""All pieces: the range of their chunks, how many they were made of, and how many they keep."""
_REMOVE = """
    UPDATE segments SET removed = removed || (
        SELECT coalesce(string_agg(int8send(gone), ''), '') FROM unnest(%s::int8[]) AS gone
        WHERE gone BETWEEN first AND last
    ) WHERE tenant = %s AND first <= %s AND last >= %s
"""
_DROP = "DELETE FROM {table} WHERE tenant = %s AND {first} BETWEEN %s AND %s"
_BAGS = """
    SELECT id, length, bag FROM chunks WHERE tenant = %s AND id BETWEEN %s AND %s ORDER BY id
"""
_ADD = """
    INSERT INTO segments (tenant, first, last, chunks, lengths, ids) VALUES (%s, %s, %s, %s, %s, %s)
"""
_ADD_BLOCK = """
    INSERT INTO postings (tenant, segment, term, terms, sizes, places, frequencies)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_OF_PIECE = """
    SELECT terms, sizes, places, frequencies FROM postings
    WHERE tenant = %s AND segment = %s ORDER BY term
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, or the tail, as far as a question needs it."""

    ids: Ids
    lengths: npt.NDArray[np.integer]
    live: Mask | None
    """The chunks that were not removed; None is all."""
    blocks: Sequence[PostingsBlock] = ()
    """The blocks of the question's terms, in order."""
    firsts: Sequence[int] = ()
    """The first term of each."""
    own: Entries | None = None
    """All entries of the tail, sorted."""

    @property
    def chunks(self) -> int:
        return len(self.ids)

    def find(self, term: int) -> Postings | None:
        """Return the postings of a term that the question has."""
        if self.own is not None:
            return postings.find(self.own, term)
        at = bisect.bisect(self.firsts, term) - 1
        return None if at < 0 else self.blocks[at].find(term)


def ask_pieces(
    connection: Connection, terms: Sequence[int], *, tenant: str
) -> Callable[[], list[Piece]]:
    """Ask for all pieces with the postings of some terms; return what reads the answer."""
    pieces = run(connection, _PIECES, (tenant,))
    found = run(connection, _BLOCKS, (tenant, list(terms), tenant, tenant))
    tail = run(connection, _TAIL, (tenant, tenant))

    def read() -> list[Piece]:
        held: dict[int, list[PostingsBlock]] = {}
        stored = pieces.fetchall()
        for segment, *columns in found.fetchall():
            held.setdefault(segment, []).append(PostingsBlock.of(columns))
        return [*(_piece(row, held) for row in stored), *_tail(tail.fetchall())]

    return read


def _piece(row: Row, held: Mapping[int, Sequence[PostingsBlock]]) -> Piece:
    first, chunks, lengths, stored, removed = row
    ids, own = _ids(first, chunks, stored), held.get(first, ())
    return Piece(
        ids,
        np.frombuffer(lengths, "<u2"),
        _live(ids, removed),
        own,
        [int(block.terms[0]) for block in own],
    )


def _tail(rows: Sequence[Row]) -> Iterator[Piece]:
    if rows:
        ids, lengths, bags = zip(*rows, strict=True)
        own = pack_bags(bags)
        own.sort()
        yield Piece(np.array(ids), np.minimum(lengths, _LONGEST), None, own=own)


def _ids(first: int, chunks: int, stored: bytes | None) -> Ids:
    """Return the ids of a piece's chunks, which are stored unless they have no gaps."""
    places = np.arange(chunks) if stored is None else np.frombuffer(stored, "<u4").astype(np.int64)
    return places + first


def _live(ids: Ids, removed: bytes) -> Mask | None:
    return ~np.isin(ids, np.frombuffer(removed, ">i8")) if removed else None


def update(
    connection: Connection, held: Sequence[Row], *, gone: Sequence[int], chunks: int, tenant: str
) -> None:
    """Remove chunks from their pieces, and seal the tail if it has become too long.

    `held` has the rows of HELD before the change, and there are so many chunks now.
    """
    if held and gone:
        run(connection, _REMOVE, (list(gone), tenant, max(gone), min(gone)))
    lost = [sum(first <= each <= last for each in gone) for first, last, *_ in held]
    sizes = [(row[2], row[3] - less) for row, less in zip(held, lost, strict=True)]
    waiting = chunks - sum(kept for _, kept in sizes)
    start = len(held)
    if waiting > TAIL:
        start = min(start, due([*sizes, (waiting, waiting)], TIERS))
        begin = held[start][0] if start < len(held) else held[-1][1] + 1 if held else 0
        _rewrite(connection, begin, _LAST, tenant=tenant)
    for (first, last, *_), less, (count, kept) in zip(held[:start], lost, sizes, strict=False):
        if less and kept * 2 < count:
            _rewrite(connection, first, last, tenant=tenant)


def _rewrite(connection: Connection, first: int, last: int, *, tenant: str) -> None:
    """Replace the pieces of a range of chunks by new ones, of what is left of them."""
    rows = run(connection, _BAGS, (tenant, first, last)).fetchall()
    for table, column in (("segments", "first"), ("postings", "segment")):
        run(connection, _DROP.format(table=table, first=column), (tenant, first, last))
    for start in range(0, len(rows), postings.LARGEST):
        _write(connection, rows[start : start + postings.LARGEST], tenant=tenant)


def _write(connection: Connection, rows: Sequence[Row], *, tenant: str) -> None:
    keys, lengths, bags = zip(*rows, strict=True)
    first, last, count = keys[0], keys[-1], len(keys)
    has_gaps = last - first + 1 > count
    ids = (np.array(keys) - first).astype("<u4").tobytes() if has_gaps else None
    stored = np.minimum(lengths, _LONGEST).astype("<u2").tobytes()
    run(connection, _ADD, (tenant, first, last, count, stored, ids))
    entries = pack_bags(bags)
    entries.sort()
    with connection.cursor() as cursor:
        cursor.executemany(
            _ADD_BLOCK.encode(),
            [
                (tenant, first, int(block.terms[0]), *block.columns())
                for block in blocks(entries, chunks=count, block_bytes=_BLOCK_BYTES)
            ],
        )


def disagreements(connection: Connection, *, tenant: str) -> Iterator[str]:
    """Yield which pieces do not have the terms of their chunks."""
    for first, chunks, _, stored, removed in run(connection, _PIECES, (tenant,)).fetchall():
        ids = _ids(first, chunks, stored)
        mask = _live(ids, removed)
        live = np.arange(chunks) if mask is None else np.flatnonzero(mask)
        rows = run(connection, _BAGS, (tenant, int(ids[0]), int(ids[-1]))).fetchall()
        columns = run(connection, _OF_PIECE, (tenant, first)).fetchall()
        held = (PostingsBlock.of(each).entries() for each in columns)
        signed = postings.signatures(held, chunks=chunks)[live]
        expected = postings.signatures([pack_bags([row[2] for row in rows])], chunks=len(rows))
        if [row[0] for row in rows] != ids[live].tolist() or not np.array_equal(signed, expected):
            yield f"the segment of the chunks from {first} on has other terms than they have"
