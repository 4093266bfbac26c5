"""What a chunk's document and the other candidates tell of it."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.search.nearness import FEW, by_document, commonness


def test_a_document_is_as_near_as_its_chunks_on_average() -> None:
    found = by_document(
        np.array([0.8, 0.4, 0.9, 0.5]), np.array([True, True, False, True]), ["a", "a", "a", "b"]
    )

    assert [0.6, 0.6, 0.6, 0.5] == pytest.approx(found.tolist())


def test_the_chunk_that_is_near_to_all_candidates_is_the_most_common_one() -> None:
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)

    apart, middle, other = commonness(vectors, np.array([True, True, True]))

    assert middle > other > apart
    assert 0.0 == pytest.approx(apart + middle + other, abs=1e-7)
    assert 3 / (3 + FEW) * (0.92 - 0.8577778) == pytest.approx(middle, rel=1e-4)


def test_a_chunk_without_a_vector_of_this_space_has_nothing_in_common() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], dtype=np.float32)

    found = commonness(vectors, np.array([True, False, True]))

    assert 0.0 == found[1]


def test_one_candidate_alone_is_not_common() -> None:
    assert [0.0] == commonness(np.ones((1, 2), dtype=np.float32), np.array([True])).tolist()
    assert [] == commonness(np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=bool)).tolist()
