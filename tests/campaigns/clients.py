"""How `recollect serve` answers one client and fifty: `python -m tests.campaigns.clients`.

Fifty clients that each ask again as soon as they are answered share the processor, so each waits
for its share: clients / cores times what one client waits alone. The 95th percentile should be
within three times that, without an error.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from tests.http.servers import SAMPLE, Command
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ALLOWED = 3.0
_SENTENCE = (
    "roll back canary release deploy database backup migration owner budget review oncall "
    "incident customer invoice search index vector keyword meeting decision deadline travel"
)
WORDS = tuple(_SENTENCE.split())
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """What some clients saw, and what the server spent."""

    clients: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    took: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """The 95th percentile of how long an answer took."""
        return statistics.quantiles(self.took, n=20)[-1]

    def line(self) -> str:
        """Return the figures as one line."""
        per_request = self.cpu_seconds / len(self.took)
        return (
            f"{self.clients:>3} clients: {len(self.took):>5} answers, {len(self.errors)} errors, "
            f"{len(self.took) / self.seconds:6.1f} a second, median "
            f"{statistics.median(self.took) * 1000:6.0f} ms, p95 {self.p95 * 1000:6.0f} ms, "
            f"server CPU {per_request * 1000:5.1f} ms an answer, "
            f"{self.cpu_seconds / self.seconds:4.2f} cores"
        )


def questions(seed: int) -> Iterator[str]:
    """Yield questions of three words, no two alike for a long time."""
    number = seed
    while True:
        number += 1
        chosen = (WORDS[number * step % len(WORDS)] for step in (1, 7, 11))
        yield f"{' '.join(chosen)} {number}"


def ask(address: str, *, seconds: float, seed: int, into: Measured) -> None:
    """Ask until the time is over, over one connection."""
    ends_at = time.monotonic() + seconds
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    for question in questions(seed):
        if time.monotonic() > ends_at:
            break
        began = time.perf_counter()
        try:
            connection.request("GET", f"/api/search?query={quote(question)}")
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            into.errors.append(repr(error))
            connection.close()
            continue
        if response.status != http.client.OK:
            into.errors.append(f"{response.status} {body[:200]!r}")
        into.took.append(time.perf_counter() - began)
    connection.close()


def measure(server: Command, *, clients: int, seconds: float) -> Measured:
    """Let clients ask at the same time."""
    found = Measured(clients)
    before, began = cpu_seconds(server.child.pid), time.perf_counter()
    threads = [
        threading.Thread(
            target=ask,
            args=(server.url,),
            kwargs={"seconds": seconds, "seed": number * 1009, "into": found},
        )
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.seconds = time.perf_counter() - began
    found.cpu_seconds = cpu_seconds(server.child.pid) - before
    return found


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextlib.contextmanager
def served(copies: int) -> Iterator[Command]:
    """Serve the sample workspace, copied so many times into one memory, with the default model."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(shutil.copytree(SAMPLE, Path(folder) / "workspace"))
        for number in range(copies):
            shutil.copytree(SAMPLE / "memory", workspace / "memory" / f"copy{number}")
        environ = {**os.environ, "RECOLLECT_HOME": str(Path(folder) / "home")}
        command = [sys.executable, "-m", "recollect", "-w", str(workspace), "serve", "--port", "0"]
        child = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
        server = Command(child, workspace, environ)
        try:
            wait_until(lambda: server.get("/health").json()["status"] == "ok")
            yield server
        finally:
            child.terminate()
            server.end()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and return 1 if they are not good enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--copies", type=int, default=0, help="make the memory so much larger")
    given = parser.parse_args(arguments)
    cores = len(os.sched_getaffinity(0))
    with served(given.copies) as server:
        measure(server, clients=2, seconds=3)  # loads the model, opens the readers
        alone = measure(server, clients=1, seconds=given.seconds / 3)
        print(alone.line(), flush=True)
        together = measure(server, clients=given.clients, seconds=given.seconds)
        print(together.line(), flush=True)
        again = measure(server, clients=1, seconds=given.seconds / 3)
        print(again.line(), flush=True)
    single = statistics.median(alone.took + again.took)
    share = single * given.clients / cores
    ratio = together.p95 / share
    errors = alone.errors + together.errors + again.errors
    print(
        f"median alone {single * 1000:.0f} ms, times {given.clients} clients / {cores} cores "
        f"= {share * 1000:.0f} ms; p95 is {ratio:.2f} times that (allowed {ALLOWED:g}); "
        f"{len(errors)} errors {errors[:3]}"
    )
    return int(ratio > ALLOWED or bool(errors))


if __name__ == "__main__":
    sys.exit(main())
