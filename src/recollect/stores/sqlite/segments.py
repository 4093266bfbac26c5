"""Segments: the chunks of the file in immutable pieces, with their postings and columns.

Only the removal of chunks changes a piece, so what a process has read stays valid under the
segment's random token, and what depends on removed chunks under a stamp. The newest chunks are in
no segment: they are the tail, which is read from their bags.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from recollect.records import dataclass
from recollect.stores import postings, term_counts
from recollect.stores.postings import PostingsBlock
from recollect.stores.sqlite.rows import RowError, blobs_of, check_tail, check_tails, day_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import apsw
    import numpy.typing as npt

    from recollect.stores.postings import Entries, Mask, Postings

    Column = npt.NDArray[np.integer]
    Segment: TypeAlias = "Sealed | Tail"
    """A piece of the chunks: both kinds have the same methods."""

Value = TypeVar("Value")

COLUMNS = {"ids": "<u4", "lengths": "<u2", "days": "<i4", "texts": "<i8", "documents": "<u2"}
"""The type of each column: a number for each chunk.

`ids` are chunk ids from the segment's first on, `days` ordinals with 0 for none, and `documents`
places in `paths` and `sources`.
"""
NAMES = ("paths", "sources")
"""Texts of a segment's documents, joined."""
JOINT = "\0"
"""Joins them: no path contains it."""
REMOVED = "removed"
"""The column of bits that tell which chunks were removed; missing if none were."""
TERM_BITS = 32
"""Bits of a block's id that are its first term; those above are its segment."""
_KEPT_BYTES = 128 << 20  # of columns, masks and postings that a process keeps
_RECORD_BYTES = 500  # what keeping anything takes, about
_LONGEST = 65_535  # a longer chunk is scored as one of this length

_SEGMENTS = "SELECT id, token, first, last, chunks, removed, stamp FROM segments ORDER BY first"
_COLUMN = "SELECT data, tail FROM columns WHERE segment = ? AND name = ?"
_BLOCK = """
    SELECT terms, sizes, places, frequencies, tail FROM postings
    WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1
"""
_BLOCKS = """
    SELECT terms, sizes, places, frequencies, tail FROM postings WHERE id BETWEEN ? AND ?
"""
_STATE = "SELECT chunks, (SELECT ifnull(max(id), 0) FROM chunks) FROM totals"
_TAIL = """
    SELECT c.id, c.length, c.day, c.text_id, d.source, d.path, c.bag, c.tail
    FROM chunks c LEFT JOIN documents d ON d.id = c.document WHERE c.id > ? ORDER BY c.id LIMIT ?
"""


class Recent:
    """What was used last, up to a number of bytes; threads share it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value of a key; `make` returns it with its size if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]  # type: ignore[return-value]
        value, size = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = value, size + _RECORD_BYTES
                self._bytes += size + _RECORD_BYTES
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= dropped
        return value


_recent = Recent(_KEPT_BYTES)


def ids_of(segment: Segment) -> npt.NDArray[np.int64]:
    """Return the ids of a segment's chunks, in order."""
    return segment.column("ids").astype(np.int64) + segment.first


def places_in(segment: Segment, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the places of those of these chunks that the segment has."""
    inside = ids[(ids >= segment.first) & (ids <= segment.last)] - segment.first
    if not len(inside):
        return inside
    own = segment.column("ids")
    found = np.searchsorted(own, inside)
    places: npt.NDArray[np.int64] = found[own[np.minimum(found, len(own) - 1)] == inside]
    return places


@dataclass(frozen=True, slots=True)
class Sealed:
    """A segment in the file; what is read of it is kept in the process."""

    connection: apsw.Connection
    number: int
    token: int
    first: int
    last: int
    chunks: int
    """Number of its chunks, removed ones included."""
    removed: int
    stamp: int
    """Another random number after each removal: a copy of the file may lose other chunks."""

    def kept(self, name: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return what follows from the segment as it is now; `make` returns it and its bytes."""
        return _recent.get((self.token, self.stamp, name), make)

    def column(self, name: str) -> Column:
        """Return one of COLUMNS."""

        def read() -> tuple[Column, int]:
            kind = np.dtype(COLUMNS[name])
            data = self._blob(name)
            if len(data) != self.chunks * kind.itemsize:
                raise RowError(f"the column {name} of a segment is not whole")
            return np.frombuffer(data, dtype=kind), len(data)

        return _recent.get((self.token, name), read)

    def names(self, name: str) -> list[str]:
        """Return one of NAMES: a text for each document."""

        def read() -> tuple[list[str], int]:
            data = self._blob(name)
            return data.decode().split(JOINT), 4 * len(data)

        return _recent.get((self.token, name), read)

    def live(self) -> Mask | None:
        """Return which chunks have not been removed; None is all."""
        if not self.removed:
            return None
        return self.kept("live", lambda: (self.read_live(), self.chunks))

    def read_live(self) -> Mask:
        """Return which chunks have not been removed.

        A writer must not keep it: if its transaction fails, others will be removed next.
        """
        if not self.removed:
            return np.ones(self.chunks, dtype=np.bool_)
        bits = np.frombuffer(self._blob(REMOVED), dtype=np.uint8)
        live = ~np.unpackbits(bits)[: self.chunks].astype(np.bool_)
        if len(live) != self.chunks or np.count_nonzero(live) != self.chunks - self.removed:
            raise RowError("the removed chunks of a segment are miscounted")
        return live

    def find(self, term: int) -> Postings | None:
        """Return the postings of a term."""

        def read() -> tuple[Postings | None, int]:
            base = self.number << TERM_BITS
            row = self.connection.execute(_BLOCK, (base, base + term)).fetchone()
            found = None if row is None else self._block_of(row).find(term)
            return found, 0 if found is None else found.bytes

        return _recent.get((self.token, term), read)

    def entries(self) -> Iterator[Entries]:
        """Yield the entries of all terms, block by block."""
        base = self.number << TERM_BITS
        for row in self.connection.execute(_BLOCKS, (base, base + (1 << TERM_BITS) - 1)):
            yield self._block_of(row).entries()

    def _block_of(self, row: Sequence[Any]) -> PostingsBlock:
        *columns, tail = row
        check_tail(tail)
        block = PostingsBlock.of(columns)
        block.check(chunks=self.chunks)
        return block

    def _blob(self, name: str) -> bytes:
        row = self.connection.execute(_COLUMN, (self.number, name)).fetchone()
        if row is None:
            raise RowError(f"the column {name} of a segment is missing")
        check_tail(row[1])
        return bytes(row[0])


@dataclass(frozen=True, slots=True)
class Tail:
    """The chunks that are in no segment of the file yet."""

    first: int
    last: int
    columns: Mapping[str, Column]
    documents: Mapping[str, list[str]]
    own: Entries
    """All entries, sorted."""

    @property
    def chunks(self) -> int:
        return len(self.columns["ids"])

    @property
    def removed(self) -> int:
        """Always 0: its chunks are read again after each change."""
        return 0

    def kept(self, _name: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return what follows from the tail; it is short, so nothing is kept."""
        return make()[0]

    def column(self, name: str) -> Column:
        return self.columns[name]

    def names(self, name: str) -> list[str]:
        return self.documents[name]

    def live(self) -> Mask | None:
        return None

    def find(self, term: int) -> Postings | None:
        return postings.find(self.own, term)


def read_tail(connection: apsw.Connection, *, after: int, limit: int = -1) -> Tail | None:
    """Read the first chunks after one; None if there are none."""
    rows = list(connection.execute(_TAIL, (after, limit)))
    if not rows:
        return None
    ids, lengths, days, texts, sources, paths, bags, tails = zip(*rows, strict=True)
    check_tails(tails)
    first = ids[0]
    numbers: dict[tuple[str, str], int] = {}
    owners = [numbers.setdefault(each, len(numbers)) for each in zip(sources, paths, strict=True)]
    numbered = {
        "ids": np.array(ids) - first,
        "lengths": np.minimum(lengths, _LONGEST),
        "days": [day.toordinal() if (day := day_of(each)) else 0 for each in days],
        "texts": texts,
        "documents": owners,
    }
    packed = postings.pack_bags(blobs_of(bags, entry_bytes=term_counts.ENTRY_BYTES))
    packed.sort()
    return Tail(
        first,
        ids[-1],
        {name: np.array(numbered[name], dtype=kind) for name, kind in COLUMNS.items()},
        {"paths": [path for _, path in numbers], "sources": [source for source, _ in numbers]},
        packed,
    )


def sealed(connection: apsw.Connection) -> list[Sealed]:
    """Return the segments of the file in the order of their chunks."""
    return [Sealed(connection, *row) for row in connection.execute(_SEGMENTS)]


def segments(connection: apsw.Connection) -> list[Segment]:
    """Return all chunks as segments, the tail last, on the caller's snapshot."""
    found: list[Segment] = list(sealed(connection))
    # No id is used twice and no chunk changes, so both are the same only if all chunks are.
    state = connection.execute(_STATE).fetchone()
    if state is None:
        raise RowError("the totals are missing")
    chunks, last = state
    after = found[-1].last if found else 0
    held = sum(each.chunks - each.removed for each in found)
    tail = _tail_of(connection, key=(after, chunks, last), after=after) if last > after else None
    if tail is not None:
        found.append(tail)
        held += tail.chunks
    if held != chunks:
        raise RowError(f"the keyword index has {held} of {chunks} chunks")
    return found


_tails: WeakKeyDictionary[apsw.Connection, tuple[tuple[int, ...], Tail | None]] = (
    WeakKeyDictionary()
)


def _tail_of(connection: apsw.Connection, *, key: tuple[int, ...], after: int) -> Tail | None:
    """Return the tail, read again if chunks were added or removed since."""
    kept = _tails.get(connection)
    if kept is None or kept[0] != key:
        kept = _tails[connection] = key, read_tail(connection, after=after)
    return kept[1]
