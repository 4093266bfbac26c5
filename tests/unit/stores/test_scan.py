"""The fast scan against exact search with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.notes import put_document, vector_pool

from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.codes import SEGMENT, Codes
from recollect.stores.sqlite.scan import ESTIMATED, NumpyScan, _nearest_codes
from recollect.stores.vectors import closest, encode, hamming, top
from recollect.types import Chunk, Document, Fingerprint, Scope, SourceKind, Stat

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.types import ChunkKey

SPACE = Fingerprint("test", "clusters", 384, "plain")
COUNT = 6000
NEAREST = 24


def clustered(count: int, seed: int) -> np.ndarray:
    """Unit vectors around 80 centres that share a common part, as text vectors do."""
    shape = np.random.default_rng(1)
    common = shape.standard_normal(384)
    centres = shape.standard_normal((80, 384)) + common
    rng = np.random.default_rng(seed)
    vectors = centres[rng.integers(80, size=count)] + rng.standard_normal((count, 384))
    unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit.astype(np.float32)


@pytest.fixture(scope="module", params=["codes", "exact", "sqlite-vec"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SqliteStore:
    engines: dict[str, str | NumpyScan] = {
        "codes": NumpyScan(exact_limit=1000),
        "exact": NumpyScan(exact_limit=10**9),
        "sqlite-vec": "sqlite-vec",
    }
    path: Path = tmp_path_factory.mktemp("scan") / "index.sqlite"
    store = SqliteStore.open(path, engine=engines[request.param])
    chunks = [Chunk("m.md", SourceKind.MEMORY, n, n, f"w{n}") for n in range(1, COUNT + 1)]
    document = Document("m.md", SourceKind.MEMORY, "", "d", Stat(0, 0), None)
    put_document(store, document, chunks, recipe="r")
    vectors = clustered(COUNT, seed=2)
    for start in range(0, COUNT, 700):
        part = slice(start, start + 700)
        store.put_vectors(
            SPACE, digests=[chunk.digest for chunk in chunks[part]], vectors=vectors[part]
        )
    return store


def lines(store: SqliteStore, keys: tuple[ChunkKey, ...]) -> list[int]:
    loaded = store.load(keys, terms=[], fingerprint=None)
    return [chunk.start_line - 1 for chunk in loaded.chunks]


def test_recall_against_exact_search_is_at_least_098(store: SqliteStore) -> None:
    vectors, queries = clustered(COUNT, seed=2), clustered(40, seed=3)
    found = 0
    for query in queries:
        pool = vector_pool(store, SPACE, vector=query, scope=Scope(), limit=NEAREST)
        exact = np.argsort(-(vectors @ query))[:NEAREST].tolist()
        found += len(set(lines(store, pool.keys)) & set(exact))

    assert found / (40 * NEAREST) >= 0.98


def test_cosines_are_exact_and_best_first(store: SqliteStore) -> None:
    vectors, query = clustered(COUNT, seed=2), clustered(1, seed=4)[0]

    pool = vector_pool(store, SPACE, vector=query, scope=Scope(), limit=NEAREST)

    expected = (vectors @ query)[lines(store, pool.keys)]
    assert expected.tolist() == pytest.approx(list(pool.cosines), abs=1e-5)
    assert sorted(pool.cosines, reverse=True) == list(pool.cosines)


def test_codes_grow_by_whole_segments(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "index.sqlite", engine=NumpyScan(exact_limit=10)) as store:
        vectors = clustered(3000, seed=5)
        for start in range(0, 3000, 500):
            store.put_vectors(
                SPACE,
                digests=[f"{number:064x}" for number in range(start, start + 500)],
                vectors=vectors[start : start + 500],
            )
        sizes = [
            len(ids) // 8
            for (ids,) in store._connection.execute("SELECT ids FROM codes ORDER BY 1")
        ]

    assert 3000 == sum(sizes)
    assert max(sizes) == SEGMENT


def test_hamming_counts_differing_signs() -> None:
    centre = np.zeros(16, dtype=np.float32)
    vectors = np.ones((2, 16), dtype=np.float32)
    vectors[1, :5] = -1

    distances = hamming(encode(vectors, centre).T, encode(vectors[0], centre))

    assert [0, 5] == distances.tolist()


def test_the_closest_include_all_that_tie_with_the_last() -> None:
    distances = np.array([5, 2, 2, 9, 2, 0], dtype=np.uint16)

    assert [5] == closest(distances, 1).tolist()
    assert [1, 2, 4, 5] == closest(distances, 2).tolist()
    assert [0, 1, 2, 3, 4, 5] == closest(distances, 6).tolist()


@pytest.mark.parametrize("limit", [1, 3, 5, 9])
def test_top_breaks_ties_by_place(limit: int) -> None:
    values = np.array([1, 3, 3, 2, 3], dtype=np.float32)

    assert [1, 2, 4, 3, 0][:limit] == top(values, limit).tolist()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.24, 0.5, 1.0])
def test_only_codes_in_scope_are_among_the_nearest(share: float) -> None:
    rng = np.random.default_rng(6)
    count = 20_000
    words = rng.integers(2**63, size=(2, count), dtype=np.uint64)
    codes = Codes(np.arange(1, count + 1), np.ones(count, dtype=np.float32), words)
    inside = rng.random(count) < share
    distances = np.bitwise_count(words ^ words[:, :1]).sum(axis=0)
    wanted = np.flatnonzero(inside)
    if len(wanted) > ESTIMATED:
        worst = np.sort(distances[inside])[ESTIMATED]
        wanted = np.flatnonzero(inside & (distances <= worst))

    found = _nearest_codes(codes, words[:, 0].copy(), inside)

    assert wanted.tolist() == found.tolist()
