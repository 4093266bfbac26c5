"""Real servers over a copy of the sample workspace: as a command, and within the test."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import httpx
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect import AsyncMemory
from recollect.shells.http.server import ServeOptions, run_server
from recollect.shells.serving import MOST_READERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.shells.http.listen import Server
    from recollect.shells.http.state import ServerState
    from recollect.shells.serving import ServedMemory

SAMPLE = Path(__file__).parent.parent.parent / "examples" / "workspace"
_HURRY = {"RECOLLECT_WATCH_DEBOUNCE_MS": "50"}  # it also takes that long to stop


@dataclass
class Command:
    """`recollect serve` as a process."""

    child: subprocess.Popen[str]
    workspace: Path
    environ: dict[str, str]
    said: list[str] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: self._find() or self.child.poll() is not None)

    def _read(self) -> None:
        assert self.child.stderr is not None
        self.said.extend(iter(self.child.stderr.readline, ""))

    def _find(self) -> bool:
        found = re.search(r"http://\S+", "".join(self.said))
        self.url = found[0].rstrip("/") if found else ""
        return bool(found)

    def get(self, path: str, **options: object) -> httpx.Response:
        """Ask for something, with the address in front."""
        return httpx.get(f"{self.url}{path}", timeout=PATIENCE_SECONDS, **options)  # type: ignore[arg-type]

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.child.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    @property
    def output(self) -> str:
        """Everything that was said so far."""
        return "".join(self.said)


class Serving(Protocol):
    """Starts the command over a workspace."""

    def __call__(
        self, workspace: Path, environ: Mapping[str, str], /, *arguments: str
    ) -> Command: ...


@contextlib.contextmanager
def commands() -> Iterator[Serving]:
    """Start servers; what still runs at the end is killed."""
    started: list[Command] = []

    def start(workspace: Path, environ: Mapping[str, str], /, *arguments: str) -> Command:
        child = subprocess.Popen(
            [*recollect_command(), "-w", str(workspace), "serve", *arguments],
            env=dict(environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(Command(child, workspace, dict(environ)))
        return started[-1]

    yield start
    for each in started:
        each.child.kill()
        each.end()
        assert each.child.stderr is not None
        each.child.stderr.close()


@dataclass
class Inside:
    """A server in a thread of the test, whose memory the test can reach."""

    url: str
    memory: ServedMemory
    state: ServerState
    server: Server
    loop: asyncio.AbstractEventLoop

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Keep all threads of the memory from doing anything else."""
        free = threading.Event()
        begun = threading.Semaphore(0)

        def hold(_memory: object) -> None:
            begun.release()
            free.wait(PATIENCE_SECONDS)

        works = [self.memory.run(hold), *(self.memory.read(hold) for _ in range(MOST_READERS))]
        held = [asyncio.run_coroutine_threadsafe(work, self.loop) for work in works]
        for _ in held:
            begun.acquire(timeout=PATIENCE_SECONDS)
        try:
            yield
        finally:
            free.set()
            for each in held:
                each.result(PATIENCE_SECONDS)


@contextlib.contextmanager
def inside(workspace: Path, environ: Mapping[str, str], options: ServeOptions) -> Iterator[Inside]:
    """Serve within the test."""
    ready: Future[Inside] = Future()

    async def run() -> None:
        await run_server(
            lambda: AsyncMemory.open(
                workspace, environ={**_HURRY, **environ}, scopes=options.scopes
            ),
            options=options,
            on_ready=lambda server, state, url: ready.set_result(
                Inside(url, state.memory, state, server, asyncio.get_running_loop())
            ),
        )

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    here = ready.result(PATIENCE_SECONDS)
    try:
        yield here
    finally:
        here.server.should_exit = True
        thread.join(PATIENCE_SECONDS)
