"""Compares the keyword index with the chunks, and rebuilds it from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.stores import postings, term_counts
from recollect.stores.sqlite.rows import (
    CHUNK_COLUMNS,
    RowError,
    TermsRowError,
    blob_of,
    check_terms,
    chunk_of,
    whole_of,
)
from recollect.stores.sqlite.seal import rebuild
from recollect.stores.sqlite.segments import ids_of, places_in, read_tail, sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw
    import numpy.typing as npt

    from recollect.stores.postings import Entries
    from recollect.stores.sqlite.segments import Sealed, Segment

RECOUNT = """
    DELETE FROM totals;
    INSERT INTO totals (chunks, length) SELECT count(*), coalesce(sum(length), 0) FROM chunks
"""
"""Counts the chunks and their terms again."""
_CHUNKS = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks c JOIN documents d ON d.id = c.document
    WHERE c.id > ? ORDER BY c.id LIMIT ?
"""  # noqa: S608 - our own column names
_BAGS = "SELECT id, bag FROM chunks WHERE id > ? ORDER BY id LIMIT ?"
_SAMPLE = "SELECT id, bag FROM chunks WHERE id >= ? ORDER BY id LIMIT 1"
_ENDS = "SELECT (SELECT min(id) FROM chunks), (SELECT max(id) FROM chunks)"  # at once, it scans
_PAGE = 2000
_PLAIN_COLUMNS = ("lengths", "days", "texts")
_SAMPLED_CHUNKS = 4
_SAMPLED_TERMS = 8  # per chunk
_RANGES = 16  # of terms, one after the other: bounds memory


def held(connection: apsw.Connection) -> int:
    """Return how many chunks the keyword index has: those of the segments and of the tail."""
    pieces = sealed(connection)
    after = pieces[-1].last if pieces else 0
    tail = connection.execute("SELECT count(*) FROM chunks WHERE id > ?", (after,)).get
    return sum(piece.chunks - piece.removed for piece in pieces) + whole_of(tail)


def has_lost_terms(connection: apsw.Connection) -> bool:
    """Return whether a few chunks, spread over the file, are not found by their own terms."""
    first, last = connection.execute(_ENDS).get
    if first is None:
        return False
    pieces = sealed(connection)
    starts = {first + (last - first) * at // (_SAMPLED_CHUNKS - 1) for at in range(_SAMPLED_CHUNKS)}
    for start in starts:
        row = connection.execute(_SAMPLE, (start,)).fetchone()
        if row is None:
            raise RowError("the last chunk is missing")
        key, bag = whole_of(row[0]), _bag_of(row[1])
        piece = next((each for each in pieces if each.first <= key <= each.last), None)
        if piece is not None and not _has_terms(piece, key, bag):
            return True
    return False


def _has_terms(piece: Sealed, key: int, bag: bytes) -> bool:
    """Return whether some of a chunk's terms lead to it."""
    places = places_in(piece, np.array([key])).tolist()
    _, hashes, _ = term_counts.columns([bag])
    sample = hashes[:: max(1, len(hashes) // _SAMPLED_TERMS)][:_SAMPLED_TERMS].tolist()
    found = [piece.find(term) for term in sample]
    return bool(places) and all(each is not None and each.holds(places[0]) for each in found)


def has_all_terms(connection: apsw.Connection) -> bool:
    """Return whether the keyword index has the terms of all chunks: reads all of it."""
    ids, indexed = signatures(connection)
    last = done = 0
    while page := list(connection.execute(_BAGS, (last, _PAGE))):
        last = whole_of(page[-1][0])
        own = slice(done, done + len(page))
        done += len(page)
        bags = [_bag_of(bag) for _, bag in page]
        if [key for key, _ in page] != ids[own].tolist() or (sign(bags) != indexed[own]).any():
            return False
    return done == len(ids) and has_all_columns(connection)


def has_all_columns(connection: apsw.Connection) -> bool:
    """Return whether the segments have the lengths, days, texts and documents of their chunks."""
    return all(_has_columns(connection, piece) for piece in sealed(connection))


def _has_columns(connection: apsw.Connection, piece: Sealed) -> bool:
    live = np.flatnonzero(piece.read_live())
    after = piece.first - 1
    done = 0
    while done < len(live):
        page = read_tail(connection, after=after, limit=min(_PAGE, len(live) - done))
        if page is None:
            return False
        own = live[done : done + page.chunks]
        pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = [
            (page.column(name), piece.column(name)[own]) for name in _PLAIN_COLUMNS
        ]
        pairs.append((ids_of(page), ids_of(piece)[own]))
        pairs += [
            (_by_chunk(page, name), _by_chunk(piece, name)[own]) for name in ("paths", "sources")
        ]
        if not all(np.array_equal(wanted, found) for wanted, found in pairs):
            return False
        done += page.chunks
        after = page.last
    return True


def _by_chunk(segment: Segment, name: str) -> npt.NDArray[np.object_]:
    """Return for each chunk a text of its document."""
    texts = np.array(segment.names(name), dtype=np.object_)
    numbers = segment.column("documents")
    if int(numbers.max()) >= len(texts):
        raise TermsRowError("a segment lacks a document")
    by_chunk: npt.NDArray[np.object_] = texts[numbers]
    return by_chunk


def signatures(
    connection: apsw.Connection,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return all chunks of the keyword index, in order, with a number for the terms of each."""
    ids = [np.zeros(0, dtype=np.int64)]
    signed = [np.zeros(0, dtype=np.uint64)]
    pieces: list[Segment] = list(sealed(connection))
    tail = read_tail(connection, after=pieces[-1].last if pieces else 0)
    for segment in [*pieces, tail] if tail is not None else pieces:
        live = segment.live()
        kept = slice(None) if live is None else live
        ids.append(ids_of(segment)[kept])
        signed.append(postings.signatures(_entries(segment), chunks=segment.chunks)[kept])
    return np.concatenate(ids), np.concatenate(signed)


def sign(bags: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return for each bag the number that the keyword index should have for its chunk."""
    return postings.signatures([postings.pack_bags(bags)], chunks=len(bags))


def _entries(segment: Segment) -> Iterator[Entries]:
    step = (1 << 32) // _RANGES
    for start in range(0, 1 << 32, step):
        yield segment.entries(start, start + step - 1)


def _bag_of(stored: object) -> bytes:
    return check_terms(blob_of, stored, entry_bytes=term_counts.ENTRY_BYTES)


def rebuild_terms(connection: apsw.Connection) -> int:
    """Rebuild bags and the keyword index from the chunks; return how many there are.

    Runs inside the caller's transaction.
    """
    last = done = 0
    while page := list(connection.execute(_CHUNKS, (last, _PAGE))):
        last = whole_of(page[-1][0])
        done += len(page)
        for row in page:
            fields = term_counts.field_terms(chunk_of(row))
            connection.execute(
                "UPDATE chunks SET bag = ?, length = ? WHERE id = ?",
                (term_counts.pack(fields), len(fields[0]), row[0]),
            )
    connection.execute(RECOUNT)
    rebuild(connection)
    return done
