"""Postings, packed and scored, against the formula over all chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.stores import bm25, postings
from recollect.stores.base import Corpus
from recollect.stores.postings import Part, PostingsBlock

if TYPE_CHECKING:
    from recollect.stores.postings import Entries, Mask

CHUNKS = 3000
TERMS = 400
LIMIT = 200


def entries_of(frequencies: np.ndarray) -> Entries:
    """Pack a matrix of frequencies, chunk by term, as a segment does."""
    places, terms = np.nonzero(frequencies)
    packed = postings.pack(terms.astype(np.uint32), places, frequencies[places, terms])
    packed.sort()
    return packed


def sample(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies, chunk by term, and lengths: the first terms are in nearly all chunks."""
    random = np.random.default_rng(seed)
    rates = 4.0 / np.arange(1, TERMS + 1) ** 1.1
    frequencies = np.minimum(random.poisson(rates, (CHUNKS, TERMS)), 255).astype(np.uint8)
    return frequencies, random.integers(20, 300, CHUNKS).astype(np.uint16)


def looked_up(frequencies: np.ndarray, asked: list[int]) -> list[postings.Postings | None]:
    """Find terms in the blocks of a segment."""
    blocks = list(postings.blocks(entries_of(frequencies), chunks=CHUNKS))
    for block in blocks:
        block.check(chunks=CHUNKS)
    firsts = [int(block.terms[0]) for block in blocks]
    held = [np.searchsorted(firsts, term, side="right") - 1 for term in asked]
    return [blocks[place].find(term) for place, term in zip(held, asked, strict=True)]


@pytest.mark.parametrize("asked", [[0, 1, 2, 30, 90, 200, 350], [0, 1, 2], [250, 399], [3, 17]])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_the_best_of_all_parts_are_those_of_the_whole_formula(
    asked: list[int], share: float
) -> None:
    samples = [sample(seed) for seed in range(3)]
    random = np.random.default_rng(9)
    masks: list[Mask | None] = [
        None if share == 1 else random.random(CHUNKS) < share for _ in samples
    ]
    parts = [
        Part(looked_up(own, asked), lengths, visible=mask, allowed=mask)
        for (own, lengths), mask in zip(samples, masks, strict=True)
    ]
    seen = [np.ones(CHUNKS, dtype=np.bool_) if mask is None else mask for mask in masks]
    frequencies = np.concatenate([own[mask] for (own, _), mask in zip(samples, seen, strict=True)])
    lengths = np.concatenate([own[mask] for (_, own), mask in zip(samples, seen, strict=True)])
    corpus = Corpus(
        chunks=len(lengths),
        mean_length=float(lengths.mean()),
        frequencies={str(term): int((frequencies[:, term] > 0).sum()) for term in asked},
    )
    words = [str(term) for term in asked]
    weights = bm25.term_weights(words, stop=words[:2], corpus=corpus)

    found = postings.best(parts, weights=weights, corpus=corpus, limit=LIMIT)

    counted = np.array([part.frequencies() for part in parts]).sum(axis=0)
    assert list(corpus.frequencies.values()) == counted.tolist()
    scores = np.concatenate(
        [
            bm25.saturated(own[:, asked], bm25.norms(own_lengths, corpus=corpus)[:, None])
            @ weights
            * mask
            for (own, own_lengths), mask in zip(samples, seen, strict=True)
        ]
    )
    order = np.lexsort((np.arange(len(scores)), -scores))[:LIMIT]
    wanted = order[scores[order] > 0].tolist()
    got = [part * CHUNKS + place for part, place in found]
    assert len(wanted) == len(got)
    assert np.mean(np.array(wanted) == np.array(got)) >= 0.98  # float32 may swap equals
    assert scores[got] == pytest.approx(scores[wanted], rel=1e-5)


def test_blocks_hold_the_entries_they_were_made_of() -> None:
    entries = entries_of(sample(1)[0])

    blocks = list(postings.blocks(entries, chunks=CHUNKS))

    assert np.array_equal(entries, np.concatenate([block.entries() for block in blocks]))
    assert any(not len(block.places) for block in blocks)  # terms that most chunks have
    stored = [sum(len(column.tobytes()) for column in block_columns(block)) for block in blocks]
    assert all(
        size <= 4000 + 2000 or len(block.terms) == 1
        for size, block in zip(stored, blocks, strict=True)
    )


def block_columns(block: PostingsBlock) -> tuple[np.ndarray, ...]:
    return block.terms, block.sizes, block.places, block.frequencies


@pytest.mark.parametrize(
    ("terms", "sizes", "places", "frequencies"),
    [
        ([1, 2], [1], [0], [1]),
        ([1], [2], [0], [1, 1]),
        ([1], [1], [9], [1]),
        ([1], [1], [], [1, 1]),
        ([1, 2], [1, 1], [], [1, 1]),
    ],
)
def test_a_block_whose_parts_do_not_fit_is_refused(
    terms: list[int], sizes: list[int], places: list[int], frequencies: list[int]
) -> None:
    block = PostingsBlock(
        np.array(terms, dtype=np.uint32),
        np.array(sizes, dtype=np.uint32),
        np.array(places, dtype=np.uint16),
        np.array(frequencies, dtype=np.uint8),
    )

    with pytest.raises(ValueError, match="posting"):
        block.check(chunks=3)
