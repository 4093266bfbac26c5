"""The long-lived processes of a soak: started, killed, started again, and measured."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parent.parent.parent.parent
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_ADDRESS = re.compile(r"http://\S+")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process uses."""

    rss_bytes: int
    descriptors: int
    threads: int
    cpu_seconds: float


class Process:
    """A server or a watcher, which may be killed and started again."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        environ: Mapping[str, str],
        folder: Path,
        is_mortal: bool,
    ) -> None:
        self.name = name
        self.is_mortal = is_mortal
        self.starts = 0
        self.turn = threading.RLock()
        """Held by whoever uses its standard input and output, and while it is replaced."""
        self._command = [sys.executable, *arguments]
        self._environ = dict(environ)
        self._said = folder / f"{name}.stderr"
        self._is_read = name in {"mcp", "mcp-killed", "vendor"}  # the others print nothing of use
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def child(self) -> subprocess.Popen[bytes]:
        """The process that runs now."""
        assert self._child is not None
        return self._child

    def start(self) -> None:
        """Start it; what it says is appended to a file."""
        with self._said.open("ab") as said:
            self._from = said.tell()
            self._child = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if self._is_read else subprocess.DEVNULL,
                stderr=said,
            )
        self.starts += 1

    @property
    def url(self) -> str:
        """The address that it printed; waits until it did."""
        found: list[str] = []

        def is_printed() -> bool:
            found[:] = _ADDRESS.findall(self.said[self._from :].decode(errors="replace"))
            return bool(found) or self.child.poll() is not None

        wait_until(is_printed)
        return found[0].rstrip("/.") if found else ""

    @property
    def said(self) -> bytes:
        """Everything it printed to standard error, over all its lives."""
        return self._said.read_bytes()

    def kill(self) -> None:
        """Kill it as a crash would, and wait until nothing of it is left."""
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self._close()

    def stop(self, *, by_closing: bool) -> int:
        """End it as its host or a service manager does; return its exit code."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        if not by_closing:
            self.child.terminate()
        try:
            code = self.child.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            code = self.child.wait()
        self._close()
        return code

    def _close(self) -> None:
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def usage(self) -> Usage | None:
        """Return what it uses now; None if it does not run."""
        place = Path("/proc") / str(self.child.pid)
        try:
            resident = int((place / "statm").read_text().split()[1]) * _PAGE_BYTES
            fields = (place / "stat").read_text().rpartition(") ")[2].split()
            descriptors = sum(1 for _ in (place / "fd").iterdir())
        except OSError:
            return None
        cpu = (int(fields[11]) + int(fields[12])) / _TICKS
        return Usage(resident, descriptors, int(fields[17]), cpu)


class Vendor(Process):
    """The embedding server."""

    def __init__(self, *, folder: Path, seed: int, share: float) -> None:
        self._port = 0
        self._seed = seed
        self._share = share
        super().__init__("vendor", (), environ=os.environ, folder=folder, is_mortal=True)

    def begin(self) -> str:
        """Start it, at the port it had before; return its address."""
        self._seed += 1
        script = "tests.campaigns.soak.vendor"
        settings = (str(self._port), str(self._seed), str(self._share))
        self._command = [sys.executable, "-m", script, *settings]
        self.start()
        assert self.child.stdout is not None
        url = self.child.stdout.readline().decode().strip()
        self._port = int(url.rpartition(":")[2])
        return url

    def calm(self) -> None:
        """Answer everything from now on."""
        self.kill()
        self._share = 0.0
        self.begin()


def pause(stopped: threading.Event, chance: random.Random, seconds: float) -> bool:
    """Wait about this long; return whether to go on."""
    return not stopped.wait(chance.uniform(0.5, 1.5) * seconds)
