"""Comparing word by word: the same numbers in parts, none of which is given to other threads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.providers.base import QuestionWords
from recollect.search.nearness import word_matches

if TYPE_CHECKING:
    import pytest

DIMENSIONS = 384


def drawn(
    counts: list[int], *, asked: int
) -> tuple[QuestionWords, np.ndarray[Any, Any], list[bytes]]:
    """Return a question, the weights of its words, and chunks of so many words each."""
    rng = np.random.default_rng(7)
    states = rng.standard_normal((asked, DIMENSIONS)).astype(np.float32)
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    codes = [
        rng.integers(0, 256, (count, DIMENSIONS // 8), dtype=np.uint8).tobytes() for count in counts
    ]
    weights = rng.random(asked)
    weights[0] = 0.0  # a word that tells nothing
    return QuestionWords(tuple(f"w{number}" for number in range(asked)), states), weights, codes


def matched_in_full(
    asked: QuestionWords, weights: np.ndarray[Any, Any], codes: list[bytes]
) -> list[float]:
    """Return the definition: the best sign vector for each word, averaged by weight."""
    found = []
    for each in codes:
        packed = np.frombuffer(each, dtype=np.uint8).reshape(-1, DIMENSIONS // 8)
        signs = 2.0 * np.unpackbits(packed, axis=1) - 1.0
        best = (signs @ asked.states.T.astype(np.float64)).max(axis=0)
        found.append(float(best @ weights) * math.sqrt(math.pi / (2 * DIMENSIONS)))
    return found


def test_parts_of_any_size_give_what_the_definition_gives() -> None:
    asked, weights, codes = drawn([1, 130, 7, 512, 90, 1, 64], asked=14)
    got = word_matches(asked, weights, codes)
    np.testing.assert_allclose(got, matched_in_full(asked, weights, codes), atol=1e-6)


def test_no_product_is_large_enough_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    product = np.dot

    def noted(one: Any, other: Any, **named: Any) -> Any:
        sizes.append(one.shape[0] * other.size)
        return product(one, other, **named)

    monkeypatch.setattr(np, "dot", noted)
    for asked in (2, 14, 200):
        word_matches(*drawn([120] * 100, asked=asked))
    assert max(sizes) <= 1 << 18
