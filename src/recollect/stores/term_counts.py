"""A chunk's bag of words: term counts as a compact blob, so that scoring never reads texts again.

Terms are stored as 32-bit hashes. A query looks up a few dozen terms in a few hundred chunks, so
the chance that a collision changes a count is about one in a million, and it moves one score a bit.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from recollect.stores.base import FIELDS
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.types import Chunk

_ENTRY = np.dtype([("term", "<u4"), ("counts", "u1", (len(FIELDS),))])
ENTRY_BYTES = _ENTRY.itemsize
"""Bytes per distinct term in a bag."""
_MAX_COUNT = 255  # a count is one byte; BM25 saturates long before
_MAX_CACHED_WORDS = 1 << 16


def field_terms(chunk: Chunk) -> tuple[list[str], ...]:
    """Return the terms of each searchable field of a chunk, in the order of FIELDS."""
    # What an entry should be found by says what it is about, like a heading.
    about = terms(" ".join((*chunk.heading, chunk.triggers)))
    return terms(chunk.text), about, terms(chunk.path)


def pack(fields: Sequence[Sequence[str]]) -> bytes:
    """Return the term counts of a chunk's fields as a blob."""
    counted = [Counter(words) for words in fields]
    distinct = sorted(set().union(*counted))
    bag = np.zeros(len(distinct), dtype=_ENTRY)
    bag["term"] = np.fromiter(map(_HASHES.__getitem__, distinct), np.uint32, len(distinct))
    for field, words in enumerate(counted):
        counts = np.fromiter(map(words.get, distinct, repeat(0)), np.int64, len(distinct))
        np.minimum(counts, _MAX_COUNT, out=bag["counts"][:, field], casting="unsafe")
    return bag.tobytes()


def count(bags: Sequence[bytes], words: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return how often each word occurs in each field of each bag: bag by word by field."""
    counts = np.zeros((len(bags), len(words), len(FIELDS)), dtype=np.uint8)
    if not bags or not words:
        return counts
    owners, hashes, own = columns(bags)
    for column, word in enumerate(words):
        found = np.flatnonzero(hashes == hash_of(word))
        counts[owners[found], column] = own[found]
    return counts


class _Hashes(dict[str, int]):
    """Maps a word to its hash, computed on first use."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        self[word] = found = hash_of(word)
        return found


_HASHES = _Hashes()


def columns(
    bags: Sequence[bytes],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Return for every entry of the bags: the number of its bag, its term, its counts by field."""
    owners = np.repeat(np.arange(len(bags)), [len(bag) // _ENTRY.itemsize for bag in bags])
    entries = np.frombuffer(b"".join(bags), dtype=_ENTRY)
    # A strided column compares at half the speed.
    return owners, np.ascontiguousarray(entries["term"]), entries["counts"]


def hash_of(word: str) -> int:
    """Return the number that stands for a term."""
    return crc32(word.encode("utf-8", "surrogatepass"))
