"""memsearch, through its own class, with Milvus Lite."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from bench.peers.programs.base import MODEL, WANTED, Program
from bench.speed.meter import Tree
from memsearch import MemSearch as Memory

if TYPE_CHECKING:
    from bench.speed.meter import Watch


class MemSearch(Program):
    """A database in one folder."""

    def open(self) -> None:
        """Open the database."""
        self._tree = Tree(os.getpid())
        self._runner = asyncio.Runner()
        self.memory = Memory(
            [self.place.workspace],
            embedding_provider="openai",
            embedding_model=MODEL,
            embedding_base_url=self.place.url,
            embedding_api_key="none",
            milvus_uri=str(self.place.folder / "milvus.db"),
        )

    def sync(self) -> None:
        """Index everything, as `memsearch index` does."""
        self._runner.run(self.memory.index())

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search, as `memsearch search` does."""
        del watch
        found = self._runner.run(self.memory.search(question, top_k=WANTED))
        top = f"{self.place.workspace}/"
        return [row["source"].removeprefix(top) for row in found]

    def cpu_time(self) -> float:
        """Count the processes that Milvus Lite starts too."""
        return self._tree.cpu() if hasattr(self, "_tree") else super().cpu_time()

    def close(self) -> None:
        """Close the database."""
        self.memory.close()
        self._runner.close()
