"""Recollect itself, through its façade, with the default model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.peers.programs.base import WANTED, Program

from recollect import Memory
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from bench.speed.meter import Watch


class Recollect(Program):
    """The checkout that this file is in."""

    memory: Memory

    def open(self) -> None:
        """Open with a home of its own."""
        os.environ["RECOLLECT_HOME"] = str(self.place.folder)
        self.memory = Memory.open(self.place.workspace)

    def sync(self) -> None:
        """Sync."""
        self.memory.sync()

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search; others get the vector of a question from a server, so embedding is left out."""
        request = SearchRequest(question, max_results=WANTED, tail=True, sync=False)
        started = self.memory.parts.start_search(request)
        with watch.paused():
            embedded = self.memory.parts.embed_search(started)
        return [hit.path for hit in self.memory.parts.finish_search(started, embedded).hits]

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()
