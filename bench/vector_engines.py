"""How fast and how exact are the vector engines of the SQLite store?

usage: python -m bench.vector_engines [CHUNKS …] [--dimensions 384]     default: 10000 100000

Clustered random vectors (384 dimensions, as the default model's), 24 nearest of 50 queries, all
engines in one run on one file, in milliseconds of CPU: read the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.support.notes import vector_pool

from recollect.stores.sqlite import SqliteStore
from recollect.stores.sqlite.scan import NumpyScan
from recollect.types import Fingerprint, Scope

QUERIES = 50
ROUNDS = 3
NEAREST = 24
CLUSTERS = 500
SPREAD = 0.9
SPACE = Fingerprint("bench", "clustered", None, "none")


def clustered(count: int, rng: np.random.Generator, centres: np.ndarray) -> np.ndarray:
    """Return unit vectors around shared centres, with a common part as text vectors have."""
    width = centres.shape[1]
    noise = rng.standard_normal((count, width), dtype=np.float32) / np.sqrt(width)
    vectors = centres[rng.integers(len(centres), size=count)] + SPREAD * noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def fill(path: Path, vectors: np.ndarray) -> None:
    """Write one chunk a vector straight into the tables: chunking is not what is measured."""
    store = SqliteStore.open(path)
    connection = store._connection  # noqa: SLF001
    connection.execute("BEGIN")
    connection.execute("INSERT INTO documents VALUES (1, 'memory', 'm.md', '', 0, 0, 1, '', NULL)")
    connection.executemany(
        "INSERT INTO texts (id, digest) VALUES (?, ?)",
        ((number + 1, number.to_bytes(32, "big")) for number in range(len(vectors))),
    )
    connection.executemany(
        "INSERT INTO chunks (document, start_line, end_line, text_id, length, heading, prefix, bag,"
        " text) VALUES (1, 1, 1, ?, 1, '', '', x'', ?)",
        ((number + 1, "x" * 1600) for number in range(len(vectors))),
    )
    connection.execute("COMMIT")
    started = time.perf_counter()
    for start in range(0, len(vectors), 4096):
        part = range(start, min(start + 4096, len(vectors)))
        store.put_vectors(
            SPACE,
            digests=[number.to_bytes(32, "big").hex() for number in part],
            vectors=vectors[part.start : part.stop],
        )
    print(f"stored {len(vectors)} vectors in {time.perf_counter() - started:.1f} s")
    store.close()


def measure(path: Path, engine: object, queries: np.ndarray, truth: list[set[int]]) -> str:
    """Return the first query, the median of the others, and the recall against exact search."""
    store = SqliteStore.open(path, engine=engine)  # type: ignore[arg-type]
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        times, found = [], []
        for query in queries:
            started = time.process_time()
            pool = vector_pool(store, SPACE, vector=query, scope=Scope(), limit=NEAREST)
            times.append((time.process_time() - started) * 1000)
            found.append({int(key) - 1 for key in pool.keys})
        rounds.append(times)
    store.close()
    warm = [min(times) for times in zip(*rounds, strict=True)]
    recall = statistics.mean(
        len(got & right) / NEAREST for got, right in zip(found, truth, strict=True)
    )
    return (
        f"first {rounds[0][0]:8.1f} ms  then {statistics.median(warm):8.1f} ms"
        f"  recall@{NEAREST} {recall:.3f}"
    )


def main() -> None:
    """Measure every engine at every size."""
    parser = argparse.ArgumentParser(prog="python -m bench.vector_engines")
    parser.add_argument("chunks", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--dimensions", type=int, default=384)
    given = parser.parse_args()
    rng = np.random.default_rng(7)
    shared = rng.standard_normal(given.dimensions, dtype=np.float32)
    centres = rng.standard_normal((CLUSTERS, given.dimensions), dtype=np.float32) + 0.8 * shared
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    for count in given.chunks:
        vectors = clustered(count, rng, centres)
        queries = clustered(QUERIES, rng, centres)
        truth = [set(np.argsort(-(vectors @ query))[:NEAREST].tolist()) for query in queries]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index.sqlite"
            fill(path, vectors)
            print(f"{count} chunks, file {path.stat().st_size / 1e6:.0f} MB")
            for name, engine in (
                ("binary codes", NumpyScan()),
                ("numpy exact", NumpyScan(exact_limit=10**9)),
                ("sqlite-vec", "sqlite-vec"),
            ):
                print(f"  {name:24}{measure(path, engine, queries, truth)}")


if __name__ == "__main__":
    main()
