"""What a chunk costs, without a server of memories: python -m bench.postgres.chunk

Fills ten memories of 1,000 chunks and one of 20,000, then searches them and replaces documents of
ten chunks, in one process. Prints bytes a chunk, CPU of both sides, and what is written to the log.
Run it with two versions side by side: CPU time varies with the load of the machine.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING

from bench.postgres.load import _fill as fill
from bench.postgres.load import material, plan, print_sizes, server_cpu
from tests.support.servers import Server

from recollect.stores.postgres import open_database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.postgres.load import Memory

_LOG = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"


def main() -> None:
    """Load, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=10, help="memories of 1,000 chunks")
    parser.add_argument("--large", type=int, default=20_000, help="chunks of the large one")
    parser.add_argument("--times", type=int, default=150, help="searches and writes of each")
    chosen = parser.parse_args()
    memories = plan(chosen.small, 1_000, [chosen.large])
    server = Server()
    try:
        server.create(shared_buffers="1GB", max_wal_size="4GB")
        server.add_tables()
        material()
        before = server_cpu(server)
        clients = fill((server.address(), memories))
        count = sum(each.chunks for each in memories)
        spent = server_cpu(server) - before
        print(
            f"loading: CPU ms a chunk: server {spent * 1000 / count:.2f}, "
            f"client {clients * 1000 / count:.2f}"
        )
        server.execute("VACUUM ANALYZE")
        print_sizes(server)
        for label, among in (("1,000", memories[:-1]), (f"{chosen.large:,}", memories[-1:])):
            compare(server, label, among, times=chosen.times)
        server.execute("VACUUM ANALYZE")
        print_sizes(server)
    finally:
        server.close()


def compare(server: Server, label: str, memories: Sequence[Memory], *, times: int) -> None:
    """Search memories, change them, and search them again."""
    chance = random.Random(1)  # noqa: S311 - not a secret
    stores = {each: open_database(server.address(), tenant=each.tenant) for each in memories}

    def search() -> None:
        material().ask(stores[chance.choice(memories)], chance.randrange(10_000))

    def replace() -> None:
        memory = chance.choice(memories)
        number, version = chance.choice(memory.documents), chance.getrandbits(30)
        material().put(stores[memory], [number], version=version)

    measure(server, f"a search in {label} chunks", search, times=times)
    measure(server, f"replacing ten chunks of {label}", replace, times=times)
    measure(server, f"a search in {label} chunks after that", search, times=times)
    for store in stores.values():
        store.close()


def measure(server: Server, label: str, work: Callable[[], None], *, times: int) -> None:
    """Print what an operation costs."""
    for _ in range(10):
        work()
    ((log,),) = server.execute(_LOG)
    started, before = time.process_time(), server_cpu(server)
    for _ in range(times):
        work()
    client, database = time.process_time() - started, server_cpu(server) - before
    ((end,),) = server.execute(_LOG)
    print(
        f"{label}: CPU ms: server {database * 1000 / times:.1f}, client "
        f"{client * 1000 / times:.1f}; log {float(end - log) / times / 1000:,.0f} kB",
        flush=True,
    )


if __name__ == "__main__":
    main()
