"""What tests of many processes need: a home without a model, a server that can be held up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.contents import index_file
from tests.support.waiting import PATIENCE_SECONDS, wait_for_descendants
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, hang

from recollect.errors import StoreError
from recollect.ingest.lease import WRITER
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.vendors.server import Fault, Request

    from recollect.stores.base import Holder

_KEY = "sk-loopback"


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment of its own without a model; nothing that runs in it outlives the test."""
    own = {
        "HOME": str(tmp_path / "user"),
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_PROVIDER": "none",
        "RECOLLECT_WATCH_DEBOUNCE_MS": "50",
    }
    yield own
    wait_for_descendants(own)


@dataclass
class Commands:
    """The command line over one workspace."""

    workspace: Path
    environ: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. It fails if it hangs."""
        return subprocess.run(
            [*recollect_command(), "-w", str(self.workspace), *arguments],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command in an interpreter of its own and leave it running."""
        return self._start((sys.executable, "-m", "recollect"), arguments)

    def start_together(self, ways: Sequence[Sequence[str]]) -> list[subprocess.Popen[str]]:
        """Start commands as close to each other as can be."""
        return [self._start(recollect_command(), arguments) for arguments in ways]

    def _start(self, program: Sequence[str], arguments: Sequence[str]) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [*program, "-w", str(self.workspace), *arguments],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(child)
        return child

    @property
    def index(self) -> Path:
        """The index file."""
        return index_file(Path(self.environ["RECOLLECT_HOME"]))

    def holder(self) -> Holder | None:
        """Return who holds the writer's lease, if there is an index yet."""
        if not list((Path(self.environ["RECOLLECT_HOME"]) / "memory").glob("*.sqlite")):
            return None
        try:
            with SqliteStore.open(self.index) as store:
                return store.lease(WRITER, lambda held: held)
        except StoreError:  # no tables yet
            return None


@pytest.fixture
def commands(workspace: Path, environ: dict[str, str]) -> Iterator[Commands]:
    """The command line; what is still running at the end of the test is killed."""
    opened = Commands(workspace, environ)
    yield opened
    for child in opened.started:
        child.kill()
        child.communicate()


@dataclass
class HeldUp:
    """A vendor that answers questions at once, and notes only when it is let go."""

    released: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    """Set when someone waits for it: all files are read by then, and no transaction is open."""

    def script(self, _number: int, request: Request) -> Fault | None:
        texts = request.body["input"]
        is_question = isinstance(texts, list) and len(texts) == 1
        if is_question or self.released.is_set():
            return None
        self.asked.set()
        return hang(self.released)


@pytest.fixture
def held_up(environ: dict[str, str]) -> Iterator[HeldUp]:
    """Make the provider one whose index runs last until they are let go."""
    vendor = HeldUp()
    with VendorServer(OpenAiFormat(), key=_KEY, script=vendor.script) as server:
        environ.update(
            {
                "RECOLLECT_PROVIDER": "openai",
                "RECOLLECT_DIMENSIONS": "32",
                "OPENAI_API_KEY": _KEY,
                "OPENAI_BASE_URL": f"{server.url}/v1",
            }
        )
        server._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        yield vendor
        vendor.released.set()
