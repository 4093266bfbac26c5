"""What every program offers to the measurement."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bench.speed.meter import Watch

WANTED = 40
"""Hits asked for, so that ten different documents are among them."""
DIMENSIONS = 384
MODEL = "snowflake-arctic-embed-s"


class UnsupportedError(Exception):
    """The program has no such thing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program finds its files and vectors, and where it may write."""

    workspace: Path
    """A copy of the notes: some programs write into them."""
    folder: Path
    """For the index and everything else that the program stores."""
    url: str
    """The server that embeds, as OpenAI's API."""


class Program(ABC):
    """One program, with its default settings but for the model and the number of hits."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    def open(self) -> None:
        """Open the index, as a fresh process does."""

    @abstractmethod
    def sync(self) -> None:
        """Index what is new.

        Raises:
            UnsupportedError: it does not compare files with an index.

        """

    def build(self) -> None:
        """Index everything for the first time."""
        self.sync()

    @abstractmethod
    def search(self, question: str, watch: Watch) -> list[str]:
        """Return the paths of the hits in the workspace, best first, repeated if hits are."""

    def cpu_time(self) -> float:
        """Return the CPU seconds of everything that works for the program."""
        return time.process_time()

    def process_cpu(self) -> float | None:
        """Return the CPU seconds of the whole program, if it is not this process."""
        return None

    def close(self) -> None:  # noqa: B027 - some have nothing to close
        """Release the index."""
