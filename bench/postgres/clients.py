"""Many clients of hosted memories, before and after: python -m bench.postgres.clients --before DIR

Fills 50 memories of 200 documents by HTTP, for this checkout and for another one, each in a
database of its own on one server. Then 20 clients search and write through two servers of each, in
turns, so that both have the same neighbours on a busy machine. Prints latencies, errors and CPU for
each operation. At last servers and the database of this checkout are killed (-9) under the same
load, and every acknowledged write is read back. No model runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from bench.postgres.load import percentile, server_cpu
from bench.speed.corpus import SECTIONS, Corpus, Shape
from bench.speed.meter import ROOT, Tree, environment
from tests.support.servers import SUPERUSER, Server, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SERVERS = 2
WRITES_OF_ALL = 0.2
_BATCH = 20  # documents in one push
_QUESTIONS = 60
_PATIENCE_SECONDS = 120
_DOWN_SECONDS = 5.0
_RECOLLECT = "import sys; from recollect.__main__ import start; sys.exit(start())"
_ERRORS = (httpx.HTTPError, ValueError)


@dataclass(slots=True)
class Worked:
    """What clients did."""

    searches: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[tuple[str, str], str] = field(default_factory=dict)
    """The text that the last acknowledged write of each document had."""
    database_cpu: float = 0.0
    server_cpu: float = 0.0
    seconds: float = 0.0


class Side:
    """One checkout, with a database and servers of its own."""

    def __init__(self, name: str, checkout: Path, server: Server, corpus: Corpus) -> None:
        self.name = name
        self.server = server
        self.corpus = corpus
        self.worked = Worked()
        self.ports = [free_port() for _ in range(SERVERS)]
        self.children: list[subprocess.Popen[bytes]] = []
        self.tokens: dict[str, str] = {}
        self._environ = {
            **environment(None),
            "PYTHONPATH": str(checkout / "src"),
            "RECOLLECT_STORE": server.address(user=f"{name}_login", database=name),
            "RECOLLECT_PROVIDER": "none",
            "RECOLLECT_LIMITS_REQUESTS_PER_MINUTE": "1000000",
            "RECOLLECT_RERANK_ENABLED": "false",
            "RECOLLECT_HOME": str(server.folder / f"home-{name}"),
        }

    def prepare(self, memories: int) -> None:
        """Create the tables, a role, and a token for each memory."""
        self.server.execute(f"CREATE DATABASE {self.name}", database="postgres")
        owner = self.server.address(user=SUPERUSER, database=self.name)
        try:
            self._run("server", "init", owner)
            self._commands = ["server", "tokens"]
        except subprocess.CalledProcessError:  # as commands were called earlier
            self._run("store", "init", owner)
            self._commands = ["tokens"]
        ((group,),) = self.server.execute(_GROUP_OF_SERVERS, database="postgres")
        self.server.execute(
            f"CREATE ROLE {self.name}_login LOGIN IN ROLE {group}", database="postgres"
        )
        for number in range(memories):
            made = self._run(*self._commands, "create", f"agent-{number:02d}", "--json")
            self.tokens[f"agent-{number:02d}"] = json.loads(made)["token"]

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, "-c", _RECOLLECT, *arguments]
        return subprocess.run(  # noqa: S603 - our own program
            command, env=self._environ, check=True, capture_output=True, text=True, cwd=ROOT
        ).stdout

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Run the servers."""
        self.children = [self.start(port) for port in self.ports]
        try:
            self.wait()
            yield
        finally:
            for child in self.children:
                child.terminate()
            for child in self.children:
                child.wait()

    def start(self, port: int) -> subprocess.Popen[bytes]:
        """Start a server."""
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", _RECOLLECT, "serve", "--memories", "--port", str(port)],
            env=self._environ,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        """Wait until every server is healthy."""
        ends_at = time.monotonic() + _PATIENCE_SECONDS
        for port in self.ports:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    health = httpx.get(f"http://127.0.0.1:{port}/health", timeout=10)
                    if health.status_code == httpx.codes.OK:
                        break
                if time.monotonic() > ends_at:
                    raise TimeoutError(f"{self.name}: no server on {port}")
                time.sleep(0.1)

    def client(self, name: str, number: int) -> httpx.Client:
        """Return a client of one memory."""
        root = f"http://127.0.0.1:{self.ports[number % SERVERS]}/api/memories/{name}"
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        return httpx.Client(base_url=root, headers=headers, timeout=_PATIENCE_SECONDS)

    def fill(self, documents: int) -> None:
        """Push the documents of every memory."""
        started, before = time.monotonic(), server_cpu(self.server)
        made = [
            {"path": each.path, "text": _first_section(each.markdown)}
            for each in self.corpus.documents(0, documents)
        ]

        def push(numbered: tuple[int, str]) -> None:
            with self.client(numbered[1], numbered[0]) as client:
                for begin in range(0, documents, _BATCH):
                    changes = {"changes": made[begin : begin + _BATCH]}
                    client.post("/documents", json=changes).raise_for_status()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(push, enumerate(self.tokens)))
        (size,) = self.server.execute(
            "SELECT pg_database_size(current_database())", database=self.name
        )[0]
        print(
            f"{self.name}: filled in {time.monotonic() - started:.0f} s, database CPU "
            f"{server_cpu(self.server) - before:.0f} s, {size / 1e6:.0f} MB",
            flush=True,
        )

    def load(self, clients: int, *, seconds: float, meanwhile: Callable[[], None]) -> None:
        """Let clients search and write until the time is over."""
        questions = [each.text for each in self.corpus.questions(_QUESTIONS)]
        documents = self.corpus.shape.documents
        lock, worked = threading.Lock(), self.worked
        trees = [Tree(child.pid) for child in self.children]
        before = server_cpu(self.server), sum(tree.cpu() for tree in trees)
        started = time.monotonic()

        def ask(number: int) -> None:
            chance = random.Random(number + round(worked.seconds) * 1000)  # noqa: S311
            own = sorted(self.tokens)[number::clients]
            with contextlib.ExitStack() as stack:
                lines = {name: stack.enter_context(self.client(name, number)) for name in own}
                while time.monotonic() < started + seconds:
                    name = chance.choice(own)
                    began = time.perf_counter()
                    try:
                        if chance.random() < WRITES_OF_ALL:
                            took = worked.writes
                            self._write(lines[name], name, chance.randrange(documents), chance)
                        else:
                            took = worked.searches
                            asked = {"query": chance.choice(questions)}
                            lines[name].get("/search", params=asked).raise_for_status().json()
                    except _ERRORS as error:
                        told = getattr(getattr(error, "response", None), "status_code", None)
                        with lock:
                            worked.failed[str(told or type(error).__name__)] += 1
                        time.sleep(0.2)
                        continue
                    with lock:
                        took.append(time.perf_counter() - began)

        with ThreadPoolExecutor(clients) as pool:
            asked = [pool.submit(ask, number) for number in range(clients)]
            meanwhile()  # in this thread: a server that it starts ends with its thread
            for each in asked:
                each.result()
        worked.seconds += time.monotonic() - started
        with contextlib.suppress(OSError):  # killed meanwhile
            worked.database_cpu += server_cpu(self.server) - before[0]
            worked.server_cpu += sum(tree.cpu() for tree in trees) - before[1]

    def _write(self, client: httpx.Client, name: str, number: int, chance: random.Random) -> None:
        made = self.corpus.document(number, version=chance.randrange(1, 1 << 30))
        text = _first_section(made.markdown)
        place = (name, made.path)
        # Until it is acknowledged, either text may be stored.
        self.worked.acknowledged.pop(place, None)
        client.put(f"/documents/{made.path}", json={"text": text}).raise_for_status()
        self.worked.acknowledged[place] = text

    def lost(self) -> int:
        """Return how many acknowledged writes another server does not have."""
        missing = 0
        with contextlib.ExitStack() as stack:
            # Not the server that acknowledged them.
            names = enumerate(self.tokens, start=1)
            lines = {name: stack.enter_context(self.client(name, n)) for n, name in names}
            for (name, path), text in self.worked.acknowledged.items():
                found = lines[name].get(f"/documents/{path}")
                missing += found.status_code != httpx.codes.OK or text not in _text_of(found)
        return missing

    def report(self) -> None:
        """Print what the clients saw, and what it cost."""
        worked = self.worked
        count = len(worked.searches) + len(worked.writes)
        times = "; ".join(
            f"{len(each)} {kind} p50 {percentile(each, 50):.0f} p99 {percentile(each, 99):.0f} ms"
            for kind, each in (("searches", worked.searches), ("writes", worked.writes))
            if len(each) > 1
        )
        print(
            f"{self.name}: {times}; {count / worked.seconds:.1f} a second; failed "
            f"{dict(worked.failed)}; CPU ms each: database "
            f"{worked.database_cpu * 1000 / count:.1f}, servers "
            f"{worked.server_cpu * 1000 / count:.1f}",
            flush=True,
        )


_GROUP_OF_SERVERS = """
    SELECT rolname FROM pg_roles g WHERE rolname ~ '^recollect_server' AND NOT EXISTS (
        SELECT 1 FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
        WHERE m.roleid = g.oid AND r.rolcanlogin
    )
"""
"""The one that has just been made: its login comes next."""


def _first_section(markdown: str) -> str:
    """Return a document of one chunk, as notes of an agent mostly are."""
    return "\n## ".join(markdown.split("\n## ")[:2])


def _text_of(answer: httpx.Response) -> str:
    return answer.text if "json" not in answer.headers["Content-Type"] else answer.json()["text"]


def kills(side: Side) -> None:
    """Kill each server once, then the database, and start them again."""
    for number, port in enumerate(side.ports):
        time.sleep(_DOWN_SECONDS)
        side.children[number].send_signal(signal.SIGKILL)
        side.children[number].wait()
        time.sleep(_DOWN_SECONDS)
        side.children[number] = side.start(port)
        side.wait()
    time.sleep(_DOWN_SECONDS)
    side.server.kill()
    time.sleep(_DOWN_SECONDS)
    side.server.start()


def main() -> None:
    """Fill, measure, kill and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout to compare with")
    parser.add_argument("--memories", type=int, default=50)
    parser.add_argument("--documents", type=int, default=200, help="of each memory")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=180.0, help="for each checkout")
    parser.add_argument("--turns", type=int, default=3, help="in which that time is spent")
    chosen = parser.parse_args()
    corpus = Corpus(Shape(chosen.documents * SECTIONS))
    server = Server()
    try:
        server.create(max_connections="100", shared_buffers="256MB")
        sides = [Side("now", ROOT, server, corpus)]
        if chosen.before:
            sides.insert(0, Side("before", chosen.before.resolve(), server, corpus))
        for side in sides:
            side.prepare(chosen.memories)
        with contextlib.ExitStack() as stack:
            for side in sides:
                stack.enter_context(side.serving())
                side.fill(chosen.documents)
            for _ in range(chosen.turns):
                for side in sides:
                    part = chosen.seconds / chosen.turns
                    side.load(chosen.clients, seconds=part, meanwhile=lambda: None)
            for side in sides:
                print(f"load {os.getloadavg()[1]:.0f}; lost {side.lost()} of ", end="")
                print(f"{len(side.worked.acknowledged)} acknowledged documents")
                side.report()
            side = sides[-1]
            side.worked = Worked()
            side.load(chosen.clients, seconds=60, meanwhile=lambda: kills(side))
            side.wait()
            lost, count = side.lost(), len(side.worked.acknowledged)
            print(f"killed servers and database: lost {lost} of {count} acknowledged documents")
            print(
                f"answered {len(side.worked.searches)} searches; failed {dict(side.worked.failed)}"
            )
    finally:
        server.close()


if __name__ == "__main__":
    main()
