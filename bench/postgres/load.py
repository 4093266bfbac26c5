"""Many memories in one database, written and searched at once: python -m bench.postgres.load

Loads memories of several sizes, then lets three processes search and write them together. Prints
bytes a chunk, CPU a search and a write, latencies, growth with the number of memories and with
their size, and what row-level security costs. Vectors are made up; embedding is left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from bench.speed.corpus import SECTIONS, TODAY, Corpus, Shape
from bench.speed.meter import Tree
from tests.support.servers import SUPERUSER, Server

from recollect.search.answer import search
from recollect.search.embed import AskedVectors
from recollect.search.options import SearchOptions
from recollect.stores.base import DocumentWrite
from recollect.stores.postgres import open_database
from recollect.stores.postgres.near import build_indexes
from recollect.types import (
    Background,
    Chunk,
    Document,
    Fingerprint,
    Query,
    SourceKind,
    Stat,
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.pool import Pool

    from bench.speed.corpus import Document as MadeDocument

    from recollect.stores.postgres import PostgresStore

WIDTH = 384
SPACE = Fingerprint("bench", "given", WIDTH, "-")
PROCESSES = 3
QUESTIONS = 60
WRITES_OF_ALL = 0.1
_MADE = 20_000  # chunks of the corpus that all memories draw from, so that making it takes no time
_BATCH = 20  # documents a transaction, as an index run has them


@dataclass(frozen=True, slots=True)
class Memory:
    """One tenant: which part of the corpus it holds."""

    tenant: str
    chunks: int
    first: int

    @property
    def documents(self) -> range:
        """The numbers of its documents."""
        return range(self.first, self.first + max(1, self.chunks // SECTIONS))


class Given:
    """Stands in for an embedding provider: all vectors exist."""

    fingerprint = SPACE
    background = Background(0.2, 0.1)

    def reads(self, text: str) -> float:
        """Return 1: every text counts."""
        del text
        return 1.0


class Material:
    """What processes put into memories and ask them; each makes its own, all make the same."""

    def __init__(self) -> None:
        corpus = Corpus(Shape(_MADE, WIDTH))
        self.made = list(corpus.documents())
        self.vectors = np.concatenate(list(corpus.vectors()))
        self.questions = corpus.questions(QUESTIONS * 4)
        self.asked = corpus.question_vectors(self.questions, self.vectors)

    def document(self, number: int, *, version: int = 0) -> tuple[MadeDocument, DocumentWrite]:
        """Return a document with its chunks; numbers beyond the corpus repeat it."""
        made = self.made[number % len(self.made)]
        path = f"memory/{number}/{made.path.rpartition('/')[2]}"
        chunks = [
            Chunk(
                path,
                SourceKind.MEMORY,
                place * 10 + 1,
                place * 10 + 9,
                f"{section.text} n{number} v{version}",
                heading=(made.title, section.heading),
                when=made.day,
            )
            for place, section in enumerate(made.sections)
        ]
        digest = digest_of(f"{number} {version}".encode())
        document = Document(path, SourceKind.MEMORY, "", digest, Stat(1, version + 1), made.day)
        return made, DocumentWrite(document, chunks, "bench")

    def put(self, store: PostgresStore, numbers: Sequence[int], *, version: int = 0) -> None:
        """Store documents with their vectors."""
        both = [self.document(number, version=version) for number in numbers]
        store.put_many([write for _, write in both])
        digests = [chunk.digest for _, write in both for chunk in write.chunks]
        places = [section.number for made, _ in both for section in made.sections]
        store.put_vectors(SPACE, digests=digests, vectors=self.vectors[places])

    def ask(self, store: PostgresStore, number: int) -> int:
        """Search as a server does after the question is embedded; return the number of hits."""
        place = number % len(self.questions)
        asked = AskedVectors(Given(), self.asked[place : place + 1])  # type: ignore[arg-type]
        question = Query(self.questions[place].text, 10)
        found = search(question, store=store, asked=asked, options=SearchOptions(), today=TODAY)
        return len(found.hits)


@cache
def material() -> Material:
    """Return what this process works with."""
    return Material()


def _prepare() -> None:
    material()


def _fill(task: tuple[str, list[Memory]]) -> float:
    """Load memories; return the CPU seconds of this process."""
    address, memories = task
    started = time.process_time()
    for memory in memories:
        with open_database(address, tenant=memory.tenant) as store:
            numbers = list(memory.documents)
            for begin in range(0, len(numbers), _BATCH):
                material().put(store, numbers[begin : begin + _BATCH])
            store.publish(SPACE)
    return time.process_time() - started


@dataclass(frozen=True, slots=True)
class Worked:
    """What one process did in its time."""

    searches: list[float]
    writes: list[float]
    cpu: float


def _work(task: tuple[str, list[Memory], float, int, float]) -> Worked:
    """Search and write memories by chance until the time is over."""
    address, memories, seconds, seed, share = task
    chance = random.Random(seed)  # noqa: S311 - not a secret
    stores = {each: open_database(address, tenant=each.tenant) for each in memories}
    searches, writes, version = [], [], seed * 1_000_000
    cpu, ends_at = time.process_time(), time.monotonic() + seconds
    while time.monotonic() < ends_at:
        memory = chance.choice(memories)
        started = time.perf_counter()
        if chance.random() < share:
            version += 1
            material().put(stores[memory], [chance.choice(memory.documents)], version=version)
            writes.append(time.perf_counter() - started)
        else:
            material().ask(stores[memory], chance.randrange(10_000))
            searches.append(time.perf_counter() - started)
    spent = time.process_time() - cpu
    for store in stores.values():
        store.close()
    return Worked(searches, writes, spent)


def plan(tenants: int, chunks: int, large: Sequence[int]) -> list[Memory]:
    """Return the memories: many small ones, and a few large ones."""
    sizes = [chunks] * tenants + list(large)
    memories, first = [], 0
    for number, size in enumerate(sizes):
        memories.append(Memory(f"agent-{number:05d}", size, first))
        first += max(1, size // SECTIONS)
    return memories


def main() -> None:
    """Load, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=150, help="of each small memory")
    parser.add_argument("--large", type=int, nargs="*", default=[2_000, 10_000, 30_000])
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    memories = plan(chosen.tenants, chosen.chunks, chosen.large)
    small, large = memories[: chosen.tenants], memories[chosen.tenants :]
    server = Server()
    context = multiprocessing.get_context("spawn")
    try:
        server.create(shared_buffers="2GB", max_wal_size="8GB", max_connections="100")
        server.add_tables()
        with context.Pool(PROCESSES, _prepare) as pool:
            steps = [part for part in (len(small) // 10, len(small)) if part]
            done = 0
            for end in steps:
                _load(server, pool, small[done:end])
                done = end
                _compare_roles(server, pool, small[:end], label=f"{end} memories")
            _load(server, pool, large)
            print_sizes(server)
            for memory in large:
                _report_alone(server, pool, [memory], label=f"a memory of {memory.chunks:,} chunks")
            owner = server.address(user=SUPERUSER)
            with psycopg.connect(owner, autocommit=True) as connection:
                print(f"indexes built: {build_indexes(connection)[0]}")
            _report_alone(server, pool, large[-1:], label="the largest with its index")
            _together(server, pool, small, seconds=chosen.seconds)
    finally:
        server.close()


def _load(server: Server, pool: Pool, memories: Sequence[Memory]) -> None:
    address, chunks = server.address(), sum(each.chunks for each in memories)
    started, before = time.monotonic(), server_cpu(server)
    parts = [list(memories[number::PROCESSES]) for number in range(PROCESSES)]
    clients = sum(pool.map(_fill, [(address, part) for part in parts], chunksize=1))
    seconds = time.monotonic() - started
    print(
        f"loaded {chunks:,} chunks of {len(memories)} memories: {chunks / seconds:,.0f} a second; "
        f"CPU ms a chunk: server {(server_cpu(server) - before) * 1000 / chunks:.2f}, "
        f"clients {clients * 1000 / chunks:.2f}",
        flush=True,
    )
    server.execute("VACUUM ANALYZE")


def _report_alone(
    server: Server, pool: Pool, memories: list[Memory], *, label: str, user: str = "agent"
) -> float:
    """Let one process search, and print what a search costs; return the server's share."""
    address = server.address(user=user)
    chosen = random.Random(1).sample(memories, min(40, len(memories)))  # noqa: S311
    pool.apply(_work, ((address, chosen, 3.0, 1, 0.0),))  # warm
    before = server_cpu(server)
    worked = pool.apply(_work, ((address, chosen, 10.0, 2, 0.0),))
    count = len(worked.searches)
    spent = (server_cpu(server) - before) * 1000 / count
    print(
        f"{label}: CPU ms a search: server {spent:.2f}, client {worked.cpu * 1000 / count:.2f}; "
        f"p50 {percentile(worked.searches, 50):.1f} ms, {count} searches",
        flush=True,
    )
    return spent


def _compare_roles(server: Server, pool: Pool, memories: list[Memory], *, label: str) -> None:
    for turn in (1, 2):
        _report_alone(server, pool, memories, label=f"{label}, with policies, turn {turn}")
        _report_alone(
            server, pool, memories, label=f"{label}, superuser, turn {turn}", user=SUPERUSER
        )


def print_sizes(server: Server) -> None:
    """Print how many bytes a chunk takes, by table."""
    rows = server.execute(
        "SELECT c.relname, pg_total_relation_size(c.oid), "
        "(SELECT sum(chunks) FROM recollect.tenants) FROM pg_class c "
        "WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC"
    )
    chunks = int(rows[0][2])
    total = sum(size for _, size, _ in rows)
    parts = ", ".join(f"{name} {size / chunks:,.0f}" for name, size, _ in rows[:4])
    print(f"{chunks:,} chunks: {total / chunks:,.0f} bytes a chunk ({parts})", flush=True)


def _together(server: Server, pool: Pool, memories: list[Memory], *, seconds: float) -> None:
    address = server.address()
    before, started = server_cpu(server), time.monotonic()
    tasks = [
        (address, memories[number::PROCESSES], seconds, number + 3, WRITES_OF_ALL)
        for number in range(PROCESSES)
    ]
    worked = pool.map(_work, tasks, chunksize=1)
    took, spent = time.monotonic() - started, server_cpu(server) - before
    searches = [each for one in worked for each in one.searches]
    writes = [each for one in worked for each in one.writes]
    clients = sum(one.cpu for one in worked)
    print(
        f"{PROCESSES} processes, {len(memories)} memories, {took:.0f} s: {len(searches)} searches "
        f"p50 {percentile(searches, 50):.1f} p99 {percentile(searches, 99):.1f} ms, "
        f"{len(writes)} documents written p50 {percentile(writes, 50):.1f} p99 "
        f"{percentile(writes, 99):.1f} ms; CPU s: server {spent:.1f}, clients {clients:.1f}; "
        f"{(len(searches) + len(writes)) / (spent + clients):.0f} operations a second and core",
        flush=True,
    )


def percentile(values: Sequence[float], percent: int) -> float:
    """Return milliseconds below which so many percent of the times are."""
    return statistics.quantiles(values, n=100)[percent - 1] * 1000


def server_cpu(server: Server) -> float:
    """Return the CPU seconds of all the server's processes that run, and of those that ended."""
    pid = int((server.data / "postmaster.pid").read_text("ascii").split()[0])
    return sum(_family_cpu(pid))


def _family_cpu(pid: int) -> Iterator[float]:
    # A postmaster collects its children: their time is in its own cutime and cstime.
    ticks = 100
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    yield sum(map(int, fields[11:15])) / ticks
    yield Tree(pid).cpu() - sum(map(int, fields[11:13])) / ticks


if __name__ == "__main__":
    main()
