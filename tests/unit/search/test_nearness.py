"""What a chunk's document and the other candidates tell of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from recollect.search.nearness import FEW, by_document, commonness


def with_mean(vectors: list[list[float]]) -> npt.NDArray[np.float64]:
    """Return the product of each with the mean of those that are there."""
    stored = np.array(vectors)
    products: npt.NDArray[np.float64] = stored @ stored[stored.any(axis=1)].mean(axis=0)
    return products


def test_a_document_is_as_near_as_its_chunks_on_average() -> None:
    found = by_document(
        np.array([0.8, 0.4, 0.9, 0.5]), np.array([True, True, False, True]), ["a", "a", "a", "b"]
    )

    assert [0.6, 0.6, 0.6, 0.5] == pytest.approx(found.tolist())


def test_the_chunk_that_is_near_to_all_candidates_is_the_most_common_one() -> None:
    vectors = [[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]]

    apart, middle, other = commonness(with_mean(vectors), np.array([True, True, True]))

    assert middle > other > apart
    assert 0.0 == pytest.approx(apart + middle + other, abs=1e-7)
    assert 3 / (3 + FEW) * (0.92 - 0.8577778) == pytest.approx(middle, rel=1e-4)


def test_a_chunk_without_a_vector_of_this_space_has_nothing_in_common() -> None:
    vectors = [[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]]

    found = commonness(with_mean(vectors), np.array([True, False, True]))

    assert 0.0 == found[1]


def test_one_candidate_alone_is_not_common() -> None:
    assert [0.0] == commonness(np.ones(1), np.array([True])).tolist()
    assert [] == commonness(np.zeros(0), np.zeros(0, dtype=bool)).tolist()
