"""Recollect itself, through its façade."""

from __future__ import annotations

import os
import sys
import time
from functools import wraps
from typing import TYPE_CHECKING

from bench.speed import given_vectors
from bench.speed.asks import Legs
from bench.speed.corpus import TODAY
from bench.speed.engines.base import WANTED, Engine
from bench.speed.given_vectors import NAME, GivenVectors

from recollect import Memory
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch


_LEGS = {
    Legs.KEYWORD: ("keyword",),
    Legs.VECTOR: ("vector",),
    Legs.HYBRID: ("keyword", "vector", "date"),
}
_MEASURED = {"keyword": "_keyword", "nearest": "_nearest", "load": "load"}
"""Parts of a search, and the method of the store, or the function beside it, that does each."""


class Recollect(Engine):
    """The current checkout, or the one named by PYTHONPATH."""

    reads_files = True
    memory: Memory

    def build(self) -> dict[str, float]:
        """Index without vectors, then with them: two parts."""
        begun = time.process_time()
        self._open("none")
        self.memory.sync()
        self.memory.close()
        stored = time.process_time()
        self._open(NAME)
        self.memory.sync()
        self.memory.close()
        embedded = time.process_time()
        return {"store": stored - begun, "vectors": embedded - stored - GivenVectors.cpu}

    def write_facts(self) -> None:
        """Write the ledger of the workspace."""
        page = self.place.workspace / "memory" / "facts" / "other.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(self.corpus.facts()), encoding="utf-8")

    def open(self) -> None:
        """Open with the vectors that are given."""
        self._open(NAME)

    def _open(self, provider: str) -> None:
        os.environ |= {
            "RECOLLECT_HOME": str(self.place.folder),
            given_vectors.FILE: str(self.place.vectors),
            given_vectors.DIMENSIONS: str(self.place.shape.dimensions),
        }
        given_vectors.register()
        settings = {"provider": provider, "cache.max_megabytes": 0, "rerank.enabled": False}
        self.memory = Memory.open(self.place.workspace, settings=settings)
        self._parts: dict[str, list[float]] = {}

    def measure_parts(self) -> None:
        """Measure the store's share of each search from now on."""
        store = self.memory.parts.store
        module = sys.modules[type(store).__module__]
        for part, name in _MEASURED.items():
            place = type(store) if hasattr(type(store), name) else module
            timed = _timed(getattr(place, name), self._parts.setdefault(part, []))
            setattr(place, name, timed)

    def parts(self) -> dict[str, list[float]]:
        """Return what `measure_parts` measured."""
        return self._parts

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Search; embedding the question is left out."""
        request = SearchRequest(
            query=f'{question.text} "{question.phrase}"' if ask.phrase else question.text,
            max_results=WANTED,
            tail=True,
            source=ask.source,
            since=ask.since,
            before=ask.before,
            path=f"{ask.folder}/**" if ask.folder else None,
            scopes=ask.scopes,
            as_of=ask.as_of,
            legs=_LEGS[ask.legs],
            today=TODAY,
            sync=False,
        )
        started = self.memory.parts.start_search(request)
        with watch.paused():
            GivenVectors.question = vector
            embedded = self.memory.parts.embed_search(started)
        hits = self.memory.parts.finish_search(started, embedded).hits
        return [f"{hit.path}:{hit.start_line}" for hit in hits]

    def update(self, document: Document) -> None:
        """Write the file and sync."""
        file = self.place.workspace / document.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.markdown, encoding="utf-8")
        self.memory.sync()

    def remove(self, document: Document) -> None:
        """Delete the file and sync."""
        (self.place.workspace / document.path).unlink()
        self.memory.sync()

    def refresh(self) -> None:
        """Sync with nothing changed."""
        self.memory.sync()

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()


def _timed(method: Callable[..., object], times: list[float]) -> Callable[..., object]:
    @wraps(method)
    def timed(*arguments: object, **named: object) -> object:
        begun = time.process_time()
        try:
            return method(*arguments, **named)
        finally:
            times.append(time.process_time() - begun)

    return timed
