"""A million chunks of a thousand memories behind three servers: python -m bench.postgres.fleet

Fills a database, then asks and writes through three `recollect serve --memories` over HTTP. Prints
latencies, CPU of the database and of the servers for each operation, and how both grow with the
number of memories and with the size of one. Vectors are made up; no model runs.

The first memories are pushed as a client pushes them. Their rows are copied for the others.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psycopg
from bench.postgres.load import percentile, print_sizes, server_cpu
from bench.speed.corpus import SECTIONS, Corpus, Shape
from bench.speed.given_vectors import DIMENSIONS, FILE, NAME, WITHOUT_WORDS, register
from bench.speed.meter import ROOT, Tree, environment
from tests.support.postgres import HOST
from tests.support.servers import SUPERUSER, Server, add_role, adopt

from recollect.hosting.host import MemoryHost
from recollect.hosting.tokens import create_token
from recollect.stores.postgres.schema import SCHEMA, server_role
from recollect.stores.pushed import PushedChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.speed.corpus import Question

WIDTH = 384
SERVERS = 3
WRITES_OF_ALL = 0.1
_FEW = 100  # memories that are measured before the others are there
_LARGE = (5, 20)  # the large memories hold the documents of so many others
_BATCH = 20  # documents in one push
_CLIENTS = 2  # that ask one server at the same time
_QUESTIONS = 60
_LATER = 429

_NO_ROWS_OF_TENANTS = ("tokens", "queue", "migrations")
_TABLES = """
    SELECT c.relname, array_agg(quote_ident(a.attname) ORDER BY a.attnum) FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' GROUP BY 1
"""
_TOTALS = """
    INSERT INTO tenants (tenant, chunks, length, changes, last)
    SELECT %s, sum(chunks), sum(length), sum(changes), {apart} * count(*) FROM tenants
    WHERE tenant = ANY(%s)
"""
# One row stands for many: the same space is in all of them.
_SHARED = "ON CONFLICT DO NOTHING"
# Numbers of documents and chunks are a tenant's own: those of each part begin higher.
_NUMBERS = {
    *(("documents", "id"), ("chunks", "id"), ("chunks", "document"), ("facts", "chunk")),
    *(("media", "chunk"), ("segments", "first"), ("segments", "last"), ("postings", "segment")),
}
_APART = 1_000_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """Which memories there are."""

    tenants: int
    chunks: int
    """Of each."""
    small: int = 0
    """How many more have a tenth of that."""
    pushed: int = 20
    """How many of each kind are pushed; the others have copies of their rows."""

    @property
    def names(self) -> list[str]:
        """The memories, in the order in which they are made."""
        return [f"agent-{number:05d}" for number in range(self.tenants)]

    @property
    def small_names(self) -> list[str]:
        """Those with a tenth of the chunks."""
        return [f"small-{number:05d}" for number in range(self.small)]

    @property
    def seeds(self) -> list[str]:
        """Those that are pushed."""
        return self.names[: self.pushed]

    @property
    def small_seeds(self) -> list[str]:
        """Small ones that are pushed."""
        return self.small_names[: self.pushed]

    @property
    def large(self) -> dict[str, list[str]]:
        """Large memories, with those whose documents they hold together."""
        return {f"large-{each}": self.seeds[:each] for each in _LARGE if each <= len(self.seeds)}

    @property
    def corpus(self) -> Corpus:
        """All documents; a seed holds its share of them."""
        return Corpus(Shape(len(self.seeds) * self.chunks, WIDTH))

    def numbers(self, name: str) -> range:
        """Return the numbers of a memory's documents."""
        each = self.chunks // SECTIONS
        if name in self.large:
            return range(len(self.large[name]) * each)
        first = number_of(name) % len(self.seeds) * each
        return range(first, first + (each // 10 if name.startswith("small") else each))

    def seed_of(self, name: str) -> str:
        """Return the memory whose rows another has."""
        seeds = self.small_seeds if name.startswith("small") else self.seeds
        return seeds[number_of(name) % len(seeds)]


def number_of(name: str) -> int:
    """Return the number in the name of a memory."""
    return int(name.rpartition("-")[2])


def settings(server: Server, vectors: Path) -> dict[str, str]:
    """Return the environment of a server of many memories."""
    return {
        "RECOLLECT_STORE": server.address(user=HOST),
        "RECOLLECT_PROVIDER": NAME,
        "RECOLLECT_LIMITS_REQUESTS_PER_MINUTE": "1000000",
        "RECOLLECT_HOME": str(vectors.parent / "home"),
        FILE: str(vectors),
        DIMENSIONS: str(WIDTH),
        WITHOUT_WORDS: "1",
    }


def fill(server: Server, fleet: Fleet, vectors: Path, names: Sequence[str]) -> None:
    """Make those memories that are not there yet, and the large ones. Nothing is safe meanwhile."""
    _be_safe(server, is_safe=False)
    there = memories_of(server)
    if pushed := [name for name in (*fleet.seeds, *fleet.small_seeds) if name not in there]:
        _push(server, fleet, vectors, pushed)
        print_sizes(server)
    tables = dict(server.execute(_TABLES, (SCHEMA,)))
    for name in _NO_ROWS_OF_TENANTS:
        del tables[name]
    sources = {name: [fleet.seed_of(name)] for name in names} | fleet.large
    if missing := sorted(sources.keys() - memories_of(server)):
        started, before = time.monotonic(), server_cpu(server)
        with ThreadPoolExecutor(2) as pool:
            for _ in pool.map(lambda name: _copy(server, tables, name, sources[name]), missing):
                pass
        print(
            f"copied {len(missing)} memories in {time.monotonic() - started:.0f} s, server's CPU "
            f"{server_cpu(server) - before:.0f} s",
            flush=True,
        )
        server.execute("VACUUM ANALYZE")
    print_sizes(server)
    _be_safe(server, is_safe=True)


def memories_of(server: Server) -> set[str]:
    """Return the memories that are there."""
    return {name for (name,) in server.execute(f"SELECT tenant FROM {SCHEMA}.tenants")}  # noqa: S608


def _be_safe(server: Server, *, is_safe: bool) -> None:
    """Write through to the disk, or not: a fill that is lost is made again."""
    switched = "on" if is_safe else "off"
    server.configure(fsync=switched, full_page_writes=switched)
    server.execute("SELECT pg_reload_conf()")
    if is_safe:
        server.execute("CHECKPOINT")
        os.sync()


def _registered(server: Server, vectors: Path) -> dict[str, str]:
    """Let this process use the given vectors; return the settings."""
    register()
    environ = settings(server, vectors)
    os.environ |= {name: environ[name] for name in (FILE, DIMENSIONS, WITHOUT_WORDS)}
    return environ


def _push(server: Server, fleet: Fleet, vectors: Path, names: Sequence[str]) -> None:
    corpus = fleet.corpus
    corpus.write_vectors(vectors)
    environ = _registered(server, vectors)
    started, cpu, before = time.monotonic(), time.process_time(), server_cpu(server)
    with MemoryHost.open(environ=environ) as host:
        for name in names:
            numbers = fleet.numbers(name)
            made = list(corpus.documents(numbers.start, numbers.stop))
            with host.memory(name) as memory:
                for begin in range(0, len(made), _BATCH):
                    part = made[begin : begin + _BATCH]
                    changes = [PushedChange(each.path, each.markdown.encode()) for each in part]
                    memory.pushed.write(changes)
                report = memory.sync()
            assert not report.degraded, report.degraded  # noqa: S101 - a measurement
            while (claim := host.database.claim(seconds=60)) is not None:
                host.database.finish(claim)
    chunks = sum(len(fleet.numbers(name)) for name in names) * SECTIONS
    print(
        f"pushed {chunks:,} chunks in {time.monotonic() - started:.0f} s: CPU ms a chunk: "
        f"database {(server_cpu(server) - before) * 1000 / chunks:.2f}, "
        f"client {(time.process_time() - cpu) * 1000 / chunks:.2f}",
        flush=True,
    )


def _copy(server: Server, tables: dict[str, list[str]], name: str, parts: list[str]) -> None:
    """Give a memory the rows of others."""
    address = server.address(user=SUPERUSER)
    with psycopg.connect(address, options=f"-c search_path={SCHEMA},public") as connection:
        connection.execute("SET LOCAL session_replication_role = replica")  # no foreign keys
        connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute(_TOTALS.format(apart=_APART), (name, parts))
        for (table, columns), (number, part) in itertools.product(tables.items(), enumerate(parts)):
            if table == "tenants":
                continue
            others = [column for column in columns if column != "tenant"]
            copied = (
                f"{column} + {number * _APART}" if (table, column) in _NUMBERS else column
                for column in others
            )
            connection.execute(
                f"INSERT INTO {table} (tenant, {', '.join(others)}) SELECT %s, "  # noqa: S608 - our own names
                f"{', '.join(copied)} FROM {table} WHERE tenant = %s {_SHARED}".encode(),
                (name, part),
            )


@contextlib.contextmanager
def serving(environ: dict[str, str], count: int) -> Iterator[tuple[list[str], list[int]]]:
    """Run servers; yields their addresses and process ids."""
    command = [sys.executable, "-m", "bench.postgres.fleet", "--serve"]
    children = [
        subprocess.Popen(  # noqa: S603 - our own program
            command,
            env={**environment(None), **environ},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    try:
        told = [json.loads(child.stdout.readline()) for child in children if child.stdout]
        yield [each["address"].rstrip("/") for each in told], [child.pid for child in children]
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()


@dataclass(frozen=True, slots=True)
class Task:
    """What one client process does."""

    url: str
    fleet: Fleet
    tokens: dict[str, str]
    seconds: float
    seed: int
    share: float
    """Of operations that write."""
    clients: int = _CLIENTS


@dataclass(frozen=True, slots=True)
class Worked:
    """What it did."""

    searches: list[float]
    writes: list[float]
    cpu: float
    refused: int


@cache
def asked_questions(fleet: Fleet) -> list[Question]:
    """Return what this process asks; making questions takes longer than asking them."""
    return fleet.corpus.questions(_QUESTIONS)


def work(task: Task) -> Worked:
    """Search and write memories by chance until the time is over."""
    corpus = task.fleet.corpus
    questions = asked_questions(task.fleet)
    searches: list[float] = []
    writes: list[float] = []
    refused: list[int] = []
    lock = threading.Lock()

    def ask(number: int) -> None:
        chance = random.Random(task.seed * 100 + number)  # noqa: S311 - not a secret
        names, version = sorted(task.tokens), (task.seed * 100 + number) * 100_000
        with httpx.Client(base_url=task.url, timeout=120) as client:
            while time.monotonic() < ends_at:
                name = chance.choice(names)
                headers = {"Authorization": f"Bearer {task.tokens[name]}"}
                root = f"/api/memories/{name}"
                if chance.random() < task.share:
                    version += 1
                    made = corpus.document(chance.choice(task.fleet.numbers(name)), version=version)
                    place, body = f"{root}/documents/{made.path}", {"text": made.markdown}
                    started, took = time.perf_counter(), writes
                    answer = client.put(place, json=body, headers=headers)
                else:
                    asked = {"query": chance.choice(questions).text}
                    started, took = time.perf_counter(), searches
                    answer = client.get(f"{root}/search", params=asked, headers=headers)
                seconds = time.perf_counter() - started
                with lock:
                    if answer.status_code == _LATER:
                        refused.append(answer.status_code)
                        continue
                    answer.raise_for_status()
                    took.append(seconds)

    cpu, ends_at = time.process_time(), time.monotonic() + task.seconds
    with ThreadPoolExecutor(task.clients) as pool:
        for _ in pool.map(ask, range(task.clients)):
            pass
    return Worked(searches, writes, time.process_time() - cpu, len(refused))


def _tokens(environ: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    now = datetime.now(tz=UTC)
    with MemoryHost.open(environ=environ) as host:
        return {name: create_token(host.database, name, now=now)[1] for name in names}


def measure(
    server: Server, fleet: Fleet, vectors: Path, names: Sequence[str], *, seconds: float
) -> None:
    """Ask one server, then three at once, and print what it cost."""
    environ = _registered(server, vectors)
    tokens = _tokens(environ, [*names, *fleet.large])
    few = fleet.names[:_FEW]
    context = multiprocessing.get_context("spawn")
    with context.Pool(SERVERS) as pool:
        with serving(environ, 1) as ([url], pids):
            some = random.Random(1).sample(few, min(40, len(few)))  # noqa: S311
            own = {name: tokens[name] for name in some}
            label = f"of {len(names):,} memories, some of {fleet.chunks:,} chunks, one client"
            for kind, share in (("searches", 0.0), ("writes", 1.0)):
                task = Task(url, fleet, own, seconds / 2, 1, share, clients=1)
                _report(server, pool, [task], pids, label=f"{label}, {kind}")
            for name, parts in fleet.large.items():
                task = Task(url, fleet, {name: tokens[name]}, seconds / 2, 1, 0.0, 1)
                label = f"a memory of {len(parts) * fleet.chunks:,} chunks, one client"
                _report(server, pool, [task], pids, label=label)
        with serving(environ, SERVERS) as (urls, pids):
            shares = [{name: tokens[name] for name in names[n::SERVERS]} for n in range(SERVERS)]
            tasks = [
                Task(url, fleet, own, seconds * 2, number + 2, WRITES_OF_ALL)
                for number, (url, own) in enumerate(zip(urls, shares, strict=True))
            ]
            _report(server, pool, tasks, pids, label=f"{SERVERS} servers, {len(names):,} memories")


def _report(
    server: Server,
    pool: multiprocessing.pool.Pool,
    tasks: Sequence[Task],
    pids: Sequence[int],
    *,
    label: str,
) -> None:
    pool.map(work, [_short(task) for task in tasks], chunksize=1)  # warm
    trees = [Tree(pid) for pid in pids]
    before = server_cpu(server), sum(tree.cpu() for tree in trees)
    worked = pool.map(work, tasks, chunksize=1)
    database = server_cpu(server) - before[0]
    serving_cpu = sum(tree.cpu() for tree in trees) - before[1]
    searches = [each for one in worked for each in one.searches]
    writes = [each for one in worked for each in one.writes]
    count = len(searches) + len(writes)
    times = "; ".join(
        f"{len(each)} {kind} p50 {percentile(each, 50):.1f} p99 {percentile(each, 99):.1f} ms"
        for kind, each in (("searches", searches), ("writes", writes))
        if len(each) > 1
    )
    print(
        f"{label}: {times}; {count / tasks[0].seconds:.1f} a second; CPU ms each: database "
        f"{database * 1000 / count:.1f}, servers {serving_cpu * 1000 / count:.1f}, clients "
        f"{sum(one.cpu for one in worked) * 1000 / count:.1f}; "
        f"{count / (database + serving_cpu):.0f} a second and core; "
        f"refused {sum(one.refused for one in worked)}",
        flush=True,
    )


def _short(task: Task) -> Task:
    return Task(task.url, task.fleet, task.tokens, 3.0, task.seed + 50, 0.0, task.clients)


def main() -> None:
    """Fill, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=1000, help="of each memory")
    parser.add_argument("--small", type=int, default=0, help="more memories, with a tenth of that")
    parser.add_argument("--pushed", type=int, default=20, help="the others have copies")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, help="where the database is kept for another run")
    parser.add_argument("--fill", action="store_true", help="measure nothing")
    parser.add_argument("--measure", action="store_true", help="fill nothing")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        _serve()
        return
    fleet = Fleet(chosen.tenants, chosen.chunks, chosen.small, chosen.pushed)
    server = Server()
    if chosen.folder is not None:
        server.folder.rmdir()
        server.folder, server.data = chosen.folder, chosen.folder / "data"
        chosen.folder.mkdir(parents=True, exist_ok=True)
        adopt(chosen.folder)
    vectors = server.folder / "vectors"
    try:
        if server.data.exists():
            server.start()
        else:
            server.create(
                shared_buffers="2GB",
                max_wal_size="2GB",
                max_connections="100",
                wal_level="minimal",
                max_wal_senders="0",
                wal_keep_size="0",
            )
            server.add_tables()
            with psycopg.connect(server.address(user=SUPERUSER), autocommit=True) as connection:
                add_role(connection, HOST, group=server_role)
        everyone = [*fleet.names, *fleet.small_names]
        is_filled = memories_of(server).issuperset(everyone)
        for names in [everyone] if is_filled else [everyone[:_FEW], everyone]:
            if not chosen.measure:
                fill(server, fleet, vectors, names)
            if not chosen.fill:
                measure(server, fleet, vectors, names, seconds=chosen.seconds)
    finally:
        if chosen.folder is None:
            server.close()
            shutil.rmtree(server.folder, ignore_errors=True)
        else:
            server.stop()


def _serve() -> None:
    """Be a server of many memories whose vectors are given."""
    from recollect.shells.cli import main as run_command  # noqa: PLC0415 - after the arguments

    register()
    sys.argv = ["recollect", "serve", "--memories", "--port", "0", "--json"]
    run_command()


if __name__ == "__main__":
    main()
