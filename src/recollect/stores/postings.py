"""Postings of a segment of chunks: packed into numbers, term first, so that sorting orders them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

import numpy as np

from recollect.records import dataclass
from recollect.stores import bm25, term_counts
from recollect.stores.base import Corpus
from recollect.stores.vectors import top

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import numpy.typing as npt

    Entries = npt.NDArray[np.uint64]
    Mask = npt.NDArray[np.bool_]

LARGEST = 65_536
"""Most chunks of a segment: the place of a chunk in it has 16 bits."""
_PLACE_BITS, _FREQUENCY_BITS = 16, 8
_TERM_SHIFT = np.uint64(_PLACE_BITS + _FREQUENCY_BITS)
_PLACE_SHIFT = np.uint64(_FREQUENCY_BITS)
_PLACE_MASK = np.uint64((1 << _PLACE_BITS) - 1)
_MOST_FREQUENT = (1 << _FREQUENCY_BITS) - 1
_BLOCK_BYTES = 4000  # about one page of the file; a term with more has a block of its own
_BLOCK_KINDS = ("<u4", "<u4", "<u2", "u1")  # terms, sizes, places, frequencies
_POSTING_BYTES, _TERM_BYTES = 3, 8
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2^64 divided by the golden ratio, as in splitmix64


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks of a segment that contain a term."""

    places: npt.NDArray[np.uint16] | None
    """Places; None if `frequencies` has a number for every chunk, zero where the term is absent."""
    frequencies: npt.NDArray[np.uint8]
    """Counts weighted by field."""

    @property
    def bytes(self) -> int:
        """The size of its numbers."""
        return self.frequencies.nbytes + (0 if self.places is None else self.places.nbytes)


@dataclass(frozen=True, slots=True)
class PostingsBlock:
    """The postings of some neighbouring terms, as they are stored."""

    terms: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    """Chunks per term."""
    places: npt.NDArray[np.uint16]
    """Empty if its only term is in so many chunks that a number for every chunk takes less."""
    frequencies: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, columns: Sequence[bytes]) -> PostingsBlock:
        """Return a block of its columns as they are stored."""
        return cls(*map(np.frombuffer, columns, _BLOCK_KINDS))

    def columns(self) -> tuple[bytes, ...]:
        """Return the columns to store."""
        stored = (self.terms, self.sizes, self.places, self.frequencies)
        return tuple(each.tobytes() for each in stored)

    def check(self, *, chunks: int) -> None:
        """Check that the parts fit together."""
        total = int(self.sizes.sum())
        is_dense = not len(self.places) and len(self.terms) == 1
        if len(self.terms) != len(self.sizes) or len(self.frequencies) != (
            chunks if is_dense else total
        ):
            raise ValueError("a block of postings is not whole")
        if not is_dense and (len(self.places) != total or (total and self.places.max() >= chunks)):
            raise ValueError("a posting names no chunk")

    def find(self, term: int) -> Postings | None:
        """Return the postings of a term that this block would hold."""
        at = int(np.searchsorted(self.terms, term))
        if at == len(self.terms) or self.terms[at] != term:
            return None
        if not len(self.places):
            return Postings(None, self.frequencies)
        start = int(self.sizes[:at].sum())
        end = start + int(self.sizes[at])
        # Copied, so that keeping them does not keep the block.
        return Postings(self.places[start:end].copy(), self.frequencies[start:end].copy())

    def entries(self) -> Entries:
        """Return the block as entries."""
        if len(self.places):
            terms = np.repeat(self.terms, self.sizes)
            return pack(terms, self.places, self.frequencies)
        places = np.flatnonzero(self.frequencies)
        terms = np.full(len(places), self.terms[0])
        return pack(terms, places, self.frequencies[places])


def pack(
    terms: npt.NDArray[np.unsignedinteger],
    places: npt.NDArray[np.integer],
    frequencies: npt.NDArray[np.integer],
) -> Entries:
    """Return entries of their three columns."""
    packed: Entries = terms.astype(np.uint64) << _TERM_SHIFT
    packed |= places.astype(np.uint64) << _PLACE_SHIFT
    packed |= frequencies.astype(np.uint64)
    return packed


def pack_bags(bags: Sequence[bytes]) -> Entries:
    """Return the entries of chunks, of which each has the place of its bag, unordered."""
    owners, terms, counts = term_counts.columns(bags)
    weighted = counts @ np.array(bm25.FIELD_WEIGHTS, dtype=np.uint16)
    return pack(terms, owners, np.minimum(weighted, _MOST_FREQUENT))


def places_of(entries: Entries) -> npt.NDArray[np.int64]:
    """Return the place of each entry's chunk."""
    return ((entries >> _PLACE_SHIFT) & _PLACE_MASK).astype(np.int64)


def find(entries: Entries, term: int) -> Postings | None:
    """Return the postings of a term in sorted entries."""
    bounds = np.array([term, term + 1], dtype=np.uint64) << _TERM_SHIFT
    start, end = np.searchsorted(entries, bounds).tolist()
    if start == end:
        return None
    own = entries[start:end]
    return Postings(places_of(own).astype(np.uint16), own.astype(np.uint8))


def blocks(
    entries: Entries, *, chunks: int, block_bytes: int = _BLOCK_BYTES
) -> Iterator[PostingsBlock]:
    """Yield sorted entries as blocks of about so many bytes, in the order of terms."""
    if not len(entries):
        return
    terms = (entries >> _TERM_SHIFT).astype(np.uint32)
    places = places_of(entries).astype(np.uint16)
    frequencies = entries.astype(np.uint8)
    starts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
    ends = np.append(starts[1:], len(terms))
    sizes = ends - starts
    stored_bytes = sizes * _POSTING_BYTES + _TERM_BYTES
    is_large = stored_bytes > block_bytes // 2
    page = (np.cumsum(stored_bytes) - stored_bytes) // block_bytes
    is_cut = (page[1:] != page[:-1]) | is_large[1:] | is_large[:-1]
    cuts = [0, *(np.flatnonzero(is_cut) + 1).tolist(), len(starts)]
    for first, last in itertools.pairwise(cuts):
        own = slice(int(starts[first]), int(ends[last - 1]))
        held, counted = places[own], frequencies[own]
        if last - first == 1 and len(held) * _POSTING_BYTES > chunks and is_large[first]:
            dense = np.zeros(chunks, dtype=np.uint8)
            dense[held] = counted
            held, counted = held[:0], dense
        yield PostingsBlock(
            terms[starts[first:last]], sizes[first:last].astype(np.uint32), held, counted
        )


def due(pieces: Sequence[tuple[int, int]], tiers: Sequence[int]) -> int:
    """Return from which piece on the newest are merged, given how many chunks each has and keeps.

    Those below a tier are, if together they reach it.
    """
    first = len(pieces)
    for tier in tiers:
        start = len(pieces)
        while start and pieces[start - 1][0] < tier:
            start -= 1
        if len(pieces) - start > 1 and sum(kept for _, kept in pieces[start:]) >= tier:
            first = start
    return first


def signatures(entries: Iterable[Entries], *, chunks: int) -> npt.NDArray[np.uint64]:
    """Return a number for each chunk that tells its terms and their frequencies from others."""
    found = np.zeros(chunks, dtype=np.uint64)
    for part in entries:
        said = ((part >> _TERM_SHIFT) << _PLACE_SHIFT) | (part & np.uint64(_MOST_FREQUENT))
        mixed = (said + np.uint64(1)) * _MIX
        np.add.at(found, places_of(part), mixed ^ (mixed >> np.uint64(29)))
    return found


class HasPostings(Protocol):
    """A piece of the chunks of a store, in whatever form."""

    @property
    def chunks(self) -> int:
        """Number of its chunks, removed ones included."""

    def find(self, term: int) -> Postings | None:
        """Return the postings of a term."""


def holders(piece: HasPostings, terms: Sequence[str]) -> Mask:
    """Return which chunks contain all terms."""
    held = np.ones(piece.chunks, dtype=np.bool_)
    for term in dict.fromkeys(terms):
        found = piece.find(term_counts.hash_of(term))
        own = np.zeros(piece.chunks, dtype=np.bool_)
        if found is not None:
            own[slice(None) if found.places is None else found.places] = found.frequencies > 0
        held &= own
    return held


@dataclass(frozen=True, slots=True)
class Part:
    """What a segment holds of a query's terms."""

    postings: Sequence[Postings | None]
    """Postings by term."""
    lengths: npt.NDArray[np.integer]
    """Body terms per chunk."""
    visible: Mask | None
    """The chunks that count in statistics; None is all."""
    allowed: Mask | None
    """The chunks that may be returned; None is all."""

    def frequencies(self) -> list[int]:
        """Return for each term the number of visible chunks that contain it."""
        return [0 if each is None else _holders(each, self.visible) for each in self.postings]


def _holders(postings: Postings, visible: Mask | None) -> int:
    if postings.places is None:
        held = postings.frequencies.astype(np.bool_)
        return int(np.count_nonzero(held if visible is None else held & visible))
    if visible is None:
        return len(postings.places)
    return int(np.count_nonzero(visible[postings.places]))


def choose(  # noqa: PLR0913 - what a choice depends on
    parts: Sequence[Part],
    terms: Sequence[str],
    *,
    stop: Collection[str],
    chunks: int,
    length: int,
    limit: int,
) -> tuple[Corpus, list[tuple[int, int]]]:
    """Return the statistics of the visible chunks, and the best ones by their part and place.

    There are so many visible chunks, with so many body terms.
    """
    counted = np.array([part.frequencies() for part in parts], dtype=np.int64)
    held = counted.reshape(len(parts), len(terms)).sum(axis=0).tolist()
    corpus = Corpus(
        chunks=chunks,
        mean_length=length / chunks if chunks else 0.0,
        frequencies=dict(zip(terms, held, strict=True)),
    )
    weights = bm25.term_weights(terms, stop=stop, corpus=corpus)
    return corpus, best(parts, weights=weights, corpus=corpus, limit=limit)


def best(
    parts: Sequence[Part], *, weights: npt.NDArray[np.float64], corpus: Corpus, limit: int
) -> list[tuple[int, int]]:
    """Return the part and the place of the chunks with the highest scores, best first."""
    found: list[tuple[float, int, int]] = []
    least = 0.0
    for number, part in enumerate(parts):
        scores = _score(part, weights=weights, corpus=corpus)
        held = np.flatnonzero(scores > least)
        places = held[top(scores[held], limit)]
        found += [
            (-score, number, place)
            for score, place in zip(scores[places].tolist(), places.tolist(), strict=True)
        ]
        found = sorted(found)[:limit]
        least = -found[-1][0] if 0 < len(found) == limit else 0.0
    return [(number, place) for _, number, place in found]


def _score(
    part: Part, *, weights: npt.NDArray[np.float64], corpus: Corpus
) -> npt.NDArray[np.float64]:
    """Return the score of each chunk; 0 for those that may not be returned."""
    norms = bm25.norms(part.lengths, corpus=corpus).astype(np.float32)
    held = [
        (weight, each) for weight, each in zip(weights.tolist(), part.postings, strict=True) if each
    ]
    scores = _sum_rare(held, norms)
    for weight, each in held:
        if each.places is None:
            scores += weight * bm25.saturated(each.frequencies.astype(np.float32), norms)
    if part.allowed is not None:
        scores *= part.allowed
    return scores


def _sum_rare(
    held: Sequence[tuple[float, Postings]], norms: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    rare = [
        (weight, each.places, each.frequencies) for weight, each in held if each.places is not None
    ]
    if not rare:
        return np.zeros(len(norms))
    places = np.concatenate([each[1] for each in rare]).astype(np.intp)
    counted = np.concatenate([each[2] for each in rare]).astype(np.float32)
    weights = np.repeat(
        np.array([each[0] for each in rare], dtype=np.float32), [len(each[1]) for each in rare]
    )
    raised = weights * bm25.saturated(counted, norms[places])
    return np.asarray(np.bincount(places, weights=raised, minlength=len(norms)), dtype=np.float64)
