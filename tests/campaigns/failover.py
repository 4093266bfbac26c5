"""The leader of a Patroni cluster is killed under load: `python -m tests.campaigns.failover`.

Writers and searchers go on by themselves, over an address that names all machines. Nothing that was
acknowledged may be missing afterwards. Needs etcd and Patroni: `make test-ha` fetches both.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.notes import chunk_of, document_of, put_document
from tests.support.patroni import SETTINGS, PatroniCluster
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.errors import StoreBusyError, StoreReadOnlyError, StoreUnreachableError
from recollect.stores.postgres import open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recollect.stores.postgres import PostgresStore

WRITERS = 2
SEARCHERS = 2
_CALM_SECONDS = 5.0  # before each kill
_EXPECTED = (StoreBusyError, StoreReadOnlyError, StoreUnreachableError)


@dataclass
class Client:
    """A thread that does one thing over and over."""

    work: Callable[[int], None]
    done_at: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)

    def run(self, is_over: threading.Event) -> None:
        """Work until it is over; a turn that fails is tried again."""
        while not is_over.is_set():
            try:
                self.work(len(self.done_at))
            except _EXPECTED as error:
                self.errors[error.kind] = self.errors.get(error.kind, 0) + 1
                time.sleep(0.1)
            except Exception as error:  # noqa: BLE001 - reported, and the campaign fails
                self.unexpected.append(f"{type(error).__name__}: {error}")
                time.sleep(0.1)
            else:
                self.done_at.append(time.monotonic())

    def gap(self, start: float, end: float) -> float:
        """Return the longest time without success between two moments."""
        moments = [start, *(at for at in self.done_at if start < at < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(moments))


def main() -> int:
    """Run the rounds and print what happened; return 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--etcd", type=Path, required=True)
    parser.add_argument("--patroni", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    cluster = PatroniCluster(etcd=chosen.etcd.absolute(), patroni=chosen.patroni.absolute())
    try:
        cluster.start()
        with tempfile.TemporaryDirectory() as folder:
            return _campaign(cluster, folder=Path(folder), rounds=chosen.rounds)
    finally:
        cluster.close()


class Load:
    """Writers with a memory each, and searchers of one memory."""

    def __init__(self, address: str, *, folder: Path) -> None:
        notes = folder / "workspace" / "memory"
        notes.mkdir(parents=True)
        (notes / "lamp.md").write_text("The lamp is in the shed.\n", encoding="utf-8")
        self.stores = [open_database(address, tenant=f"writer{each}") for each in range(WRITERS)]
        self.memories = [
            Memory.open(
                folder / "workspace",
                environ={"HOME": str(folder), "RECOLLECT_HOME": str(folder / "home")},
                settings={"store": address, "provider": "none"},
            )
            for _ in range(SEARCHERS)
        ]
        self.memories[0].sync()
        self.writers = [Client(lambda turn, to=store: put(to, turn)) for store in self.stores]  # type: ignore[misc]
        self.searchers = [Client(lambda _, of=memory: ask(of)) for memory in self.memories]  # type: ignore[misc]
        self.clients = [*self.writers, *self.searchers]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let all clients work during the body."""
        is_over = threading.Event()
        threads = [threading.Thread(target=each.run, args=(is_over,)) for each in self.clients]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join()

    def lost(self) -> int:
        """Return how many acknowledged documents are missing."""
        missing = 0
        for store, writer in zip(self.stores, self.writers, strict=True):
            stored = {path for _, path in store.known()}
            missing += sum(path_of(turn) not in stored for turn in range(len(writer.done_at)))
        return missing

    def close(self) -> None:
        """Close everything."""
        for store in self.stores:
            store.close()
        for memory in self.memories:
            memory.close()


def path_of(turn: int) -> str:
    """Return the path of a writer's document."""
    return f"memory/{turn}.md"


def put(store: PostgresStore, turn: int) -> None:
    """Write a document of three chunks."""
    path = path_of(turn)
    chunks = [chunk_of(path, f"lamp {turn} {line}", line=line) for line in (1, 2, 3)]
    put_document(store, document_of(path), chunks, recipe="r")


def ask(memory: Memory) -> None:
    """Ask for the note that is there."""
    if not memory.search("lamp", sync=False).hits:
        raise RuntimeError("a search found nothing")


def _campaign(cluster: PatroniCluster, *, folder: Path, rounds: int) -> int:
    load = Load(cluster.address(), folder=folder)
    with load.running():
        for number in range(1, rounds + 1):
            _round(number, cluster, load)
    lost = load.lost()
    wrong = [message for store in load.stores for message in store.check(deep=True)]
    unexpected = [message for client in load.clients for message in client.unexpected]
    load.close()
    print(f"acknowledged writes: {sum(len(each.done_at) for each in load.writers)}, lost: {lost}")
    print(f"searches: {sum(len(each.done_at) for each in load.searchers)}")
    print(f"errors: {[client.errors for client in load.clients]}, unexpected: {unexpected[:3]}")
    print(f"audit: {wrong}")
    return 1 if lost or wrong or unexpected else 0


def _round(number: int, cluster: PatroniCluster, load: Load) -> None:
    wait_until(cluster.is_complete)
    time.sleep(_CALM_SECONDS)
    leader = cluster.leader()
    killed = time.monotonic()
    leader.kill()
    for client in load.clients:
        wait_until(lambda client=client: client.done_at[-1] > killed + 1)  # type: ignore[misc]
    back = time.monotonic()
    cluster.restart(leader)
    wait_until(cluster.is_complete)
    print(
        f"round {number}: {leader.name} killed; longest gap of writes "
        f"{max(client.gap(killed, back) for client in load.writers):.1f} s, of searches "
        f"{max(client.gap(killed, back) for client in load.searchers):.1f} s; "
        f"complete again after {time.monotonic() - killed:.1f} s (ttl {SETTINGS['ttl']} s)",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
