"""The vector cache: limited in size, oldest out first, replaced when damaged."""

from __future__ import annotations

from contextlib import closing
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import StoreError
from recollect.stores.cache import VectorCache
from recollect.types import Background, Fingerprint, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPACE = Fingerprint("test", "org/model", 8, "plain")
OTHER = Fingerprint("test", "org/model", 8, "other")
TODAY = date(2026, 3, 1)
VECTOR_BYTES = 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "embeddings.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[VectorCache]:
    opened = VectorCache(path, max_bytes=100 * VECTOR_BYTES)
    yield opened
    opened.close()


def vectors(count: int) -> np.ndarray:
    return np.eye(8, dtype=np.float32)[np.arange(count) % 8]


def digests(*names: str) -> list[str]:
    return [digest_of(name.encode()) for name in names]


def test_what_is_put_is_got_back_bit_for_bit_in_its_own_space(cache: VectorCache) -> None:
    stored = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float32)
    cache.put(SPACE, digests=digests("a", "b"), vectors=stored, today=TODAY)

    found = cache.get(SPACE, digests=digests("b", "c", "a"), today=TODAY)

    assert set(digests("a", "b")) == set(found)
    assert stored[0].tobytes() == found[digests("a")[0]][0].tobytes()
    assert {} == cache.get(OTHER, digests=digests("a", "b"), today=TODAY)


def test_word_codes_are_cached_with_their_vector(cache: VectorCache) -> None:
    cache.put(SPACE, digests=digests("a"), vectors=vectors(1), today=TODAY, words=[b"\x01" * 5])
    cache.put(SPACE, digests=digests("b"), vectors=vectors(1), today=TODAY)

    found = cache.get(SPACE, digests=digests("a", "b", "c"), today=TODAY)

    assert dict(zip(digests("a", "b"), (b"\x01" * 5, b""), strict=True)) == {
        digest: words for digest, (_, words) in found.items()
    }
    status = cache.status()
    assert status is not None
    assert (2, 2 * VECTOR_BYTES + 5) == (status.vectors, status.size_bytes)


def test_nothing_is_written_before_something_is_kept(path: Path, cache: VectorCache) -> None:
    assert cache.status() is None
    assert not path.exists()


def test_beyond_its_bound_the_longest_unused_go_first(cache: VectorCache) -> None:
    names = [f"text {number}" for number in range(120)]
    for number, name in enumerate(names):
        cache.put(
            SPACE,
            digests=digests(name),
            vectors=vectors(1),
            today=TODAY + timedelta(days=number),
        )
    cache.get(SPACE, digests=digests(names[0]), today=TODAY + timedelta(days=500))

    dropped = cache.trim()

    status = cache.status()
    assert status is not None
    assert 30 == dropped
    assert 90 == status.vectors == status.size_bytes // VECTOR_BYTES
    kept = cache.get(SPACE, digests=digests(*names), today=TODAY)
    assert set(digests(names[0], *names[31:])) == set(kept)
    assert 0 == cache.trim()


def test_dropped_vectors_give_their_space_back(path: Path) -> None:
    cache = VectorCache(path, max_bytes=10**9)
    names = [f"text {number}" for number in range(5000)]
    cache.put(SPACE, digests=digests(*names), vectors=vectors(5000), today=TODAY)
    cache.close()
    full = path.stat().st_size

    cache = VectorCache(path, max_bytes=VECTOR_BYTES)
    cache.trim()
    cache.close()

    assert path.stat().st_size < full / 4


def test_a_measured_background_is_kept_by_space(cache: VectorCache) -> None:
    cache.put_background(SPACE, Background(0.25, 0.125))

    assert Background(0.25, 0.125) == cache.background(SPACE)
    assert cache.background(OTHER) is None


def test_a_damaged_cache_is_replaced(path: Path) -> None:
    cache = VectorCache(path, max_bytes=10**6)
    cache.put(SPACE, digests=digests("a"), vectors=vectors(1), today=TODAY)
    cache.close()
    path.write_bytes(b"not a database at all" * 500)

    cache.put(SPACE, digests=digests("b"), vectors=vectors(1), today=TODAY)

    assert digests("b") == list(cache.get(SPACE, digests=digests("a", "b"), today=TODAY))
    cache.close()


def test_a_damaged_page_starts_the_cache_over_when_it_is_read(path: Path) -> None:
    with closing(VectorCache(path, max_bytes=10**9)) as cache:
        cache.put(SPACE, digests=["aa"], vectors=vectors(1), today=TODAY)
    sound = path.read_bytes()
    for place in range(100, len(sound), 1024):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        with closing(VectorCache(path, max_bytes=10**9)) as cache:
            kept = cache.get(SPACE, digests=["aa"], today=TODAY)
            cache.put(SPACE, digests=["aa"], vectors=vectors(1), today=TODAY)

            assert not kept or np.array_equal(vectors(1)[0], kept["aa"][0])
            assert cache.get(SPACE, digests=["aa"], today=TODAY)


def test_a_cache_that_cannot_be_opened_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    cache = VectorCache(tmp_path / "cache" / "embeddings.sqlite", max_bytes=10**6)

    with pytest.raises(StoreError):
        cache.put(SPACE, digests=digests("a"), vectors=vectors(1), today=TODAY)


def test_two_processes_may_open_a_new_cache_at_once(path: Path) -> None:
    first = VectorCache(path, max_bytes=10**6)
    second = VectorCache(path, max_bytes=10**6)

    first.put(SPACE, digests=digests("a"), vectors=vectors(1), today=TODAY)
    second.put(SPACE, digests=digests("b"), vectors=vectors(1), today=TODAY)

    assert 2 == len(first.get(SPACE, digests=digests("a", "b"), today=TODAY))
    first.close()
    second.close()
