"""`recollect serve` as a process, for the pages of these tests."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.web.tab import Tab


@dataclass(frozen=True, slots=True)
class Server:
    """A running server and whose memory it shows."""

    url: str
    workspace: Path
    child: subprocess.Popen[str]
    tabs: list[Tab] = field(default_factory=list)
    """Closed before it ends: a page that asks a server that is gone says so."""

    def ask(self, path: str, **params: object) -> Any:
        """Return the JSON that the page would get."""
        answer = httpx.get(f"{self.url}{path}", params=params, timeout=PATIENCE_SECONDS)  # type: ignore[arg-type]
        assert answer.is_success, answer.text
        return answer.json()

    def wait_until_synced(self) -> None:
        """Return when the first sync has ended."""
        wait_until(lambda: self.ask("/health")["status"] != "starting")

    def kill(self) -> None:
        """End it without a word."""
        self.child.kill()
        self.child.wait()


@contextlib.contextmanager
def served(workspace: Path, environ: Mapping[str, str], *options: str) -> Iterator[Server]:
    """Serve a workspace on a free port, or on the one that the options name."""
    port = () if "--port" in options else ("--port", "0")
    command = [*recollect_command(), "-w", str(workspace), "serve", "--json"]
    with tempfile.TemporaryFile("w+") as complaints:
        child = subprocess.Popen(
            [*command, *port, *options],
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
        said = child.stdout.readline() if child.stdout else ""
        complaints.seek(0)
        why = "" if said else complaints.read()
    try:
        assert said, f"the server did not start: {why}"
        server = Server(json.loads(said)["address"].rstrip("/"), workspace, child)
        yield server
        if child.poll() is None:  # else a test has ended it to see what the page says
            for tab in server.tabs:
                if not tab.page.is_closed():  # its browser may be gone as well
                    tab.page.close()
    finally:
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()


def private_environ(folder: Path) -> dict[str, str]:
    """Return an environment that shares nothing with the user's."""
    return {
        "HOME": str(folder / "user"),
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(folder / "home"),
        "TZ": "UTC",
    }
