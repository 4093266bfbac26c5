"""OpenClaw's memory search, through its own index manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.peers.programs.base import WANTED, Program
from bench.speed.engines.openclaw import start_openclaw

if TYPE_CHECKING:
    from bench.speed.engines.node_process import NodeProcess
    from bench.speed.meter import Watch


class OpenClaw(Program):
    """The real package, in a state folder of its own."""

    process: NodeProcess
    decay = True

    def open(self) -> None:
        """Start Node.js and open the index."""
        self.process = start_openclaw(
            self.place.folder,
            workspace=self.place.workspace,
            url=self.place.url,
            decay=self.decay,
        )

    def sync(self) -> None:
        """Sync, as `openclaw memory index` does."""
        self.process.tell("sync")

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search, as the agent's tool does."""
        del watch
        found = self.process.tell("search", query=question, count=WANTED)["found"]
        return [path for path, _ in found]  # type: ignore[attr-defined]

    def cpu_time(self) -> float:
        """Return what Node.js used."""
        return self.process.cpu() if hasattr(self, "process") else 0.0

    def process_cpu(self) -> float | None:
        """Return the same: this is the program that a user would start."""
        return self.process.cpu()

    def close(self) -> None:
        """End it."""
        self.process.close()


class OpenClawWithoutDecay(OpenClaw):
    """The same, but a note loses nothing by being old."""

    decay = False
