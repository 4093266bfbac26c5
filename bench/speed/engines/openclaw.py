"""OpenClaw's memory search: its own index manager, in a Node.js process that answers line by line.

It cuts the files into chunks by itself (about nine a file here instead of ten) and asks a server on
loopback for vectors, so the request for the question's vector is part of what is measured.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.speed.asks import Legs, UnsupportedError
from bench.speed.embedding_server import serve
from bench.speed.engines.base import WANTED, Engine
from bench.speed.engines.node_process import NodeProcess
from bench.speed.lookup import Lookup

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_DRIVER = Path(__file__).with_name("openclaw_driver.mjs")


class OpenClaw(Engine):
    """The real package, in a state folder of its own."""

    reads_files = True
    is_elsewhere = True
    process: NodeProcess

    def build(self) -> dict[str, float]:
        """Index the workspace."""
        self.open()
        self.refresh()
        self.close()
        return {}

    def open(self) -> None:
        """Start Node.js and open the index."""
        self.lookup = Lookup(self.vectors)
        self._server = serve(self.lookup.vectors_of, self._port())
        self.process = start_openclaw(
            self.place.folder.resolve(),
            workspace=self.place.workspace.resolve(),
            url=f"http://127.0.0.1:{self._server.server_port}/v1",
        )

    def _port(self) -> int:
        """Return a port that stays the same: another address would be another model to OpenClaw."""
        file = self.place.folder / "port"
        if not file.exists():
            with socket.create_server(("127.0.0.1", 0)) as free:
                file.write_text(str(free.getsockname()[1]), encoding="ascii")
        return int(file.read_text(encoding="ascii"))

    def cpu_time(self) -> float:
        """Return what Node.js used; this process only serves vectors."""
        return self.process.cpu() if hasattr(self, "process") else 0.0

    def process_cpu(self) -> float | None:
        """Return the same: this is the program that a user would start."""
        return self.process.cpu()

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Ask in the only way there is: both legs, no filter."""
        del watch
        if ask.is_filtered:
            raise UnsupportedError("has no such filter")
        if ask.legs is not Legs.HYBRID:
            raise UnsupportedError("always asks both legs")
        self.lookup.question = vector
        found = self.process.tell("search", query=question.text, count=WANTED)["found"]
        return [f"{path}:{line}" for path, line in found]  # type: ignore[attr-defined]

    def update(self, document: Document) -> None:
        """Write the file and sync."""
        file = self.place.workspace / document.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.markdown, encoding="utf-8")
        self.refresh()

    def remove(self, document: Document) -> None:
        """Delete the file and sync."""
        (self.place.workspace / document.path).unlink()
        self.refresh()

    def refresh(self) -> None:
        """Sync, as `openclaw memory index` does."""
        self.lookup.question = None
        self.process.tell("sync")

    def close(self) -> None:
        """End both processes."""
        self.process.close()
        self._server.shutdown()
        self._server.server_close()


def start_openclaw(state: Path, *, workspace: Path, url: str, decay: bool = True) -> NodeProcess:
    """Start OpenClaw's index manager on a workspace, with vectors from a server.

    Without decay, older notes with a date in their name count as much as others.
    """
    environment = Path(sys.executable).parents[1]
    process = NodeProcess(
        _DRIVER,
        environment=environment,
        home=state,
        variables={"OPENCLAW_STATE_DIR": str(state / "state")},
    )
    package = environment / "node_modules" / "openclaw"
    process.tell("open", package=str(package), workspace=str(workspace), url=url, decay=decay)
    return process
