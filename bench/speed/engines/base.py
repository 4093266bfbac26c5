"""What every engine offers to the measurement."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np
from bench.speed.asks import UnsupportedError
from bench.speed.corpus import Corpus, Question

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Shape
    from bench.speed.meter import Watch

WANTED = 10
"""Hits asked for."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the inputs and the index of an engine are."""

    shape: Shape
    workspace: Path
    """The corpus as Markdown files, for engines that read files."""
    vectors: Path
    """All vectors, in the order of the chunks."""
    questions: Path
    """What is asked, with vectors."""
    folder: Path
    """The engine's own; everything that it stores counts as its size."""


class Engine(ABC):
    """One way to store and search the corpus."""

    reads_files = False
    """Whether it indexes the files of a folder by itself, so that a run may find nothing to do."""

    is_elsewhere = False
    """Whether another process does the work: then the memory of this one says nothing."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.corpus = Corpus(place.shape)

    @cached_property
    def vectors(self) -> npt.NDArray[np.float32]:
        """The given vectors, mapped."""
        shape = self.place.shape
        return np.memmap(
            self.place.vectors, np.float32, "r", shape=(shape.chunks, shape.dimensions)
        )

    def questions(self, count: int) -> list[tuple[Question, npt.NDArray[np.float32]]]:
        """Return questions with their vectors; more than there are begin again."""
        rows = json.loads(self.place.questions.read_text(encoding="utf-8"))
        made = [
            (Question(**row["question"]), np.array(row["vector"], dtype=np.float32)) for row in rows
        ]
        return list(islice(cycle(made), count))

    @abstractmethod
    def build(self) -> dict[str, float]:
        """Index everything; return the CPU seconds of its parts, if it has parts."""

    @abstractmethod
    def open(self) -> None:
        """Open the index, as a fresh process does."""

    @abstractmethod
    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Return the chunks found, best first: the path of the file, and where in it.

        Raises:
            UnsupportedError: the engine cannot be asked so.

        """

    @abstractmethod
    def update(self, document: Document) -> None:
        """Replace one document by another version of it."""

    @abstractmethod
    def remove(self, document: Document) -> None:
        """Remove one document."""

    def refresh(self) -> None:
        """Look for changed files and find none.

        Raises:
            UnsupportedError: it does not know files.

        """
        raise UnsupportedError("stores rows, not files: there is nothing to compare")

    def cpu_time(self) -> float:
        """Return the CPU seconds used so far by everything that works for this engine."""
        return time.process_time()

    def process_cpu(self) -> float | None:
        """Return the CPU seconds of a cold start, if it is not that of this process."""
        return None

    @staticmethod
    def require_common(ask: Ask) -> None:
        """Check that a way to ask is one that a store of rows can have.

        Raises:
            UnsupportedError: it is not.

        """
        if ask.is_peculiar:
            raise UnsupportedError("knows no sources, scopes or validity")

    def parts(self) -> dict[str, list[float]]:
        """Return the CPU seconds of parts of the searches so far."""
        return {}

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Release the index."""


def fuse(*rankings: list[str]) -> list[str]:
    """Return reciprocal rank fusion, for engines that leave it to the user."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, name in enumerate(ranking):
            scores[name] = scores.get(name, 0.0) + 1 / (60 + place)
    return sorted(scores, key=lambda name: -scores[name])[:WANTED]
