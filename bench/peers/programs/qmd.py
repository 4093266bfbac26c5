"""qmd, through its own package: keyword search, which needs no model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.programs.base import WANTED, Program
from bench.speed.engines.node_process import NodeProcess

if TYPE_CHECKING:
    from bench.speed.meter import Watch

_DRIVER = Path(__file__).with_name("qmd_driver.mjs")


class Qmd(Program):
    """The real package, with one collection."""

    process: NodeProcess

    def open(self) -> None:
        """Start Node.js and open the index."""
        environment = Path(sys.executable).parents[1]
        self.process = NodeProcess(
            _DRIVER, environment=environment, home=self.place.folder, variables={}
        )
        self.process.tell(
            "open",
            package=str(environment / "node_modules" / "@tobilu" / "qmd"),
            database=str(self.place.folder / "index.sqlite"),
            workspace=str(self.place.workspace),
        )

    def sync(self) -> None:
        """Update, as `qmd update` does."""
        self.process.tell("sync")

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search, as `qmd search` does."""
        del watch
        found = self.process.tell("search", query=question, count=WANTED)["found"]
        return list(found)  # type: ignore[call-overload]

    def cpu_time(self) -> float:
        """Return what Node.js used."""
        return self.process.cpu() if hasattr(self, "process") else 0.0

    def process_cpu(self) -> float | None:
        """Return the same: this is the program that a user would start."""
        return self.process.cpu()

    def close(self) -> None:
        """End it."""
        self.process.close()
