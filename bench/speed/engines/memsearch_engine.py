"""memsearch: Markdown files in Milvus Lite, through its own class."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from bench.speed.asks import Legs, UnsupportedError
from bench.speed.engines.base import WANTED, Engine
from bench.speed.lookup import Lookup
from bench.speed.meter import Tree
from memsearch import MemSearch as Memory
from memsearch import core

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch


class _Given:
    """An embedding provider of memsearch with the given vectors."""

    model_name = "given"
    batch_size = 100

    def __init__(self, lookup: Lookup, dimension: int) -> None:
        self._lookup, self.dimension = lookup, dimension

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """Return them as memsearch wants them."""
        return self._lookup.vectors_of(texts).tolist()


class MemSearch(Engine):
    """A database in one folder."""

    reads_files = True

    def build(self) -> dict[str, float]:
        """Index the workspace."""
        self.open()
        self.refresh()
        self.close()
        return {}

    def open(self) -> None:
        """Open the database, with the given vectors in the place of a model."""
        self.lookup = Lookup(self.vectors)
        given = _Given(self.lookup, self.place.shape.dimensions)
        core.get_provider = lambda *_, **__: given
        self.memory = Memory(
            [self.place.workspace / "memory"],
            milvus_uri=str(self.place.folder.resolve() / "milvus.db"),
        )
        self._tree = Tree(os.getpid())

    def cpu_time(self) -> float:
        """Count the processes that Milvus Lite starts too."""
        return self._tree.cpu() if hasattr(self, "_tree") else super().cpu_time()

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Ask in the way there is: both legs, and a folder."""
        del watch
        if ask.legs is not Legs.HYBRID:
            raise UnsupportedError("always asks both legs")
        self.require_common(ask)
        if ask.since or ask.phrase:
            raise UnsupportedError("has no such filter")
        self.lookup.question = vector
        folder = self.place.workspace / ask.folder if ask.folder else None
        found = asyncio.run(self.memory.search(question.text, top_k=WANTED, source_prefix=folder))
        top = f"{self.place.workspace.resolve()}/"
        return [f"{row['source'].removeprefix(top)}:{row['start_line']}" for row in found]

    def update(self, document: Document) -> None:
        """Write the file and index it alone."""
        file = self.place.workspace / document.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.markdown, encoding="utf-8")
        self.lookup.question = None
        asyncio.run(self.memory.index_file(file))

    def remove(self, document: Document) -> None:
        """Delete the file and index everything: there is no other way."""
        (self.place.workspace / document.path).unlink()
        self.refresh()

    def refresh(self) -> None:
        """Index everything, as `memsearch index` does."""
        self.lookup.question = None
        asyncio.run(self.memory.index())

    def close(self) -> None:
        """Close the database."""
        self.memory.close()
