"""From how many vectors on is an index faster than comparing all? python -m bench.postgres.nearest

Prints, for memories of several sizes, the server's CPU milliseconds a question and the share of the
200 nearest that were found: exactly, and with HNSW over float32 and over half precision.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from bench.speed.corpus import Corpus, Shape
from tests.support.servers import SUPERUSER, Server

from recollect.stores.postgres.adapt import VectorParameter, register

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

SIZES = (1_000, 5_000, 10_000, 20_000, 50_000, 100_000)
POOL = 200
QUESTIONS = 40
WIDTH = 384
INDEXES = {
    "exact": None,
    "float32": ("vector", "vector_ip_ops"),
    "half": (f"(vector::halfvec({WIDTH}))", "halfvec_ip_ops"),
}


def main() -> None:
    """Load one tenant of each size into one table, and ask each in every way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--effort", type=int, nargs="*", default=[200, 400, 800])
    chosen = parser.parse_args()
    server = Server()
    try:
        server.create(
            shared_buffers="1GB", maintenance_work_mem="1GB", fsync="off", max_wal_size="4GB"
        )
        with psycopg.connect(server.address(user=SUPERUSER, database="postgres")) as connection:
            connection.autocommit = True
            connection.execute("SET max_parallel_workers_per_gather = 0")  # only its own CPU counts
            connection.execute("CREATE EXTENSION vector")
            register(connection)
            connection.execute(
                f"CREATE TABLE vectors (tenant text, digest bytea, vector vector({WIDTH}), "
                "PRIMARY KEY (tenant, digest))".encode()
            )
            for size in chosen.sizes:
                _measure(connection, size, efforts=chosen.effort)
    finally:
        server.close()


def _measure(
    connection: psycopg.Connection[tuple[Any, ...]], size: int, *, efforts: Sequence[int]
) -> None:
    corpus = Corpus(Shape(size, seed=size))
    vectors = np.concatenate(list(corpus.vectors()))
    asked = corpus.question_vectors(corpus.questions(QUESTIONS), vectors)
    tenant = f"t{size}"
    with connection.cursor().copy("COPY vectors FROM STDIN (FORMAT BINARY)") as copy:
        for number, vector in enumerate(vectors):
            copy.write_row((tenant, number.to_bytes(8, "big"), VectorParameter(vector)))
    connection.execute("VACUUM ANALYZE vectors")
    best = np.argsort(-(asked @ vectors.T), axis=1)[:, :POOL]
    for name, index in INDEXES.items():
        built = 0.0
        column = "vector"
        if index is not None:
            column, operators = index
            started = _cpu(connection)
            connection.execute(
                f"CREATE INDEX near ON vectors USING hnsw ({column} {operators}) "
                f"WHERE tenant = '{tenant}'".encode()
            )
            built = _cpu(connection) - started
        for effort in efforts if index else (0,):
            milliseconds, recall, first = _ask(
                connection, tenant, column=column, effort=effort, asked=asked, best=best
            )
            print(
                f"{size:>7} {name:8} ef {effort:>3}: {milliseconds:7.2f} ms CPU, recall "
                f"{recall:.3f}, of the first ten {first:.3f}, built in {built:.1f} s CPU, "
                f"{_size(connection) if index else 0} MB",
                flush=True,
            )
        connection.execute("DROP INDEX IF EXISTS near")


def _ask(  # noqa: PLR0913 - what is asked
    connection: psycopg.Connection[tuple[Any, ...]],
    tenant: str,
    *,
    column: str,
    effort: int,
    asked: npt.NDArray[np.float32],
    best: npt.NDArray[np.int64],
) -> tuple[float, float, float]:
    half = f"::halfvec({WIDTH})" if "halfvec" in column else ""
    statement = (
        f"SELECT digest FROM vectors WHERE tenant = '{tenant}' "  # noqa: S608 - our own names
        f"ORDER BY {column} <#> %s::vector{half} LIMIT {POOL}"
    ).encode()
    connection.execute("SET hnsw.iterative_scan = 'relaxed_order'")
    connection.execute(f"SET hnsw.ef_search = {effort or 40}".encode())
    took, found, firsts = [], [], []
    for turn in range(2):  # the first warms the cache
        for vector, wanted in zip(asked, best, strict=True):
            started = _cpu(connection)
            rows = connection.execute(statement, (VectorParameter(vector),), binary=True).fetchall()
            if turn:
                took.append(_cpu(connection) - started)
                got = {int.from_bytes(row[0], "big") for row in rows}
                found.append(len(got & set(wanted.tolist())) / len(wanted))
                firsts.append(len(got & set(wanted[:10].tolist())) / 10)
    return statistics.median(took) * 1000, statistics.mean(found), statistics.mean(firsts)


def _cpu(connection: psycopg.Connection[tuple[Any, ...]]) -> float:
    place = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    return int(place.read_text("ascii").split()[0]) / 1e9


def _size(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    row = connection.execute("SELECT pg_relation_size('near') >> 20").fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    started_at = time.time()
    main()
    print(f"{time.time() - started_at:.0f} s")
