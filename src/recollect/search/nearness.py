"""How near a chunk is to a question beyond its cosine: by its document, all candidates, its words.

A chunk's vector says what it is about as a whole; one sentence in it may be the answer. So the best
candidates are compared word by word (MaxSim, late interaction), by one bit per dimension, the sign,
which keeps the order of matches: docs/decisions/ranking.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.stores.bm25 import term_weights
from recollect.stores.vectors import code_bytes
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.providers.base import QuestionWords
    from recollect.search.scores import Floats
    from recollect.stores.base import Corpus
    from recollect.text.terms import QueryTerms

    Bools = npt.NDArray[np.bool_]

COMPARED = 30
"""The best candidates by all other evidence, whose words are compared: each is read from the store,
5 KB, and more change no result that is measured (docs/decisions/ranking.md)."""
FEW = 50
"""Candidates of which the middle counts half: of few, each makes up much of it."""
_ONE_THREAD = 1 << 18
"""Multiplications up to which the linear algebra library begins no thread: on a busy machine its
threads take ten times as long to begin and to end as the products take."""
_ROWS, _COLUMNS = 16, 4  # codes and words that it multiplies at once: 15 words take longer than 16
_UNPACKED = 2  # products whose codes are unpacked at once, into what fits a processor's cache


def by_document(cosines: Floats, present: Bools, paths: Sequence[str]) -> Floats:
    """Return for each chunk the mean cosine of its document's chunks in the union."""
    numbers: dict[str, int] = {}
    owner = np.array([numbers.setdefault(path, len(numbers)) for path in paths], dtype=np.intp)
    weights = present.astype(np.float64)
    sums = np.bincount(owner, weights=cosines * weights)
    counts = np.bincount(owner, weights=weights)
    means: Floats = (sums / np.maximum(counts, 1.0))[owner]
    return means


def commonness(with_mean: Floats, present: Bools) -> Floats:
    """Return how much nearer each chunk is to all candidates than they are to each other.

    The note of a busy day is near to every question: docs/decisions/ranking.md.
    """
    found = np.zeros(len(present))
    if own := int(np.count_nonzero(present)):
        near = with_mean[present]
        found[present] = (near - near.mean()) * own / (own + FEW)
    return found


def word_weights(asked: QuestionWords, *, question: QueryTerms, corpus: Corpus) -> Floats:
    """Return the share of each word in the question's information; they add up to 1."""
    weights = term_weights(question.terms, stop=question.stop, corpus=corpus)
    of_term = dict(zip(question.terms, weights.tolist(), strict=True))
    of_word = {
        word: max((of_term.get(term, 0.0) for term in terms(word)), default=0.0)
        for word in set(asked.words)
    }
    told = np.array([of_word[word] for word in asked.words], dtype=np.float64)
    return told / told.sum() if told.any() else np.full(len(told), 1.0 / max(len(told), 1))


def word_matches(asked: QuestionWords, weights: Floats, codes: Sequence[bytes]) -> Floats:
    """Return for each chunk how well its best words match the question's, at most about 1."""
    telling = weights > 0
    states, weights = asked.states[telling], weights[telling]
    if not len(codes) or not len(states):
        return np.zeros(len(codes))
    dimensions = states.shape[1]
    width = code_bytes(dimensions)
    packed = np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(-1, width)
    # Words and dimensions are filled up with zeroes, to what is multiplied at once.
    across = np.zeros((8 * width, -(-len(states) // _COLUMNS) * _COLUMNS), dtype=np.float32)
    across[:dimensions, : len(states)] = states.T
    rows = max(1, _ONE_THREAD // across.size)
    rows -= rows % _ROWS if rows > _ROWS else 0
    products = np.empty((len(packed), across.shape[1]), dtype=np.float32)
    bits = np.empty((_UNPACKED * rows, len(across)), dtype=np.float32)
    for at in range(0, len(packed), len(bits)):
        part = packed[at : at + len(bits)]
        bits[: len(part)] = np.unpackbits(part, axis=1)
        for start in range(0, len(part), rows):
            end = min(start + rows, len(part))
            np.dot(bits[start:end], across, out=products[at + start : at + end])
    starts = np.cumsum([0, *(len(each) // width for each in codes[:-1])])
    # The product with signs of ±1 is twice that with bits of 0 and 1, less the sum.
    best = np.maximum.reduceat(products, starts, axis=0)[:, : len(states)]
    best = 2 * best - states.sum(axis=1)
    # The length of a sign vector seen along a unit vector, on average.
    scale = math.sqrt(math.pi / (2 * dimensions))
    matches: Floats = (best @ weights) * scale
    return matches
