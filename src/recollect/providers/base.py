"""The protocols of models: the Provider, the Reranker, and the options of choosing one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.types import Background, Fingerprint, Progress, Role, Vectors


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Which provider to use and where its files are."""

    provider: str = "auto"
    model_path: Path | None = None
    """A folder with the local model's files, for machines that reach no package index."""
    model_cache: Path | None = None
    """Where fetched models are kept; None is the platform's cache folder."""


class Provider(Protocol):
    """Turns texts into unit-length vectors of one space."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space; known before anything is loaded."""

    @property
    def background(self) -> Background:
        """Return how the cosines of unrelated questions and texts are spread."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands: 1 all of it, 0 nothing."""

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Make sure that texts can be embedded, fetching what is needed.

        Args:
            progress: is told how far a download has come.
            retry: try again even if the last attempt failed a moment ago.

        Raises:
            ProviderError: texts cannot be embedded now.

        """

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one vector a text.

        Raises:
            ProviderError: the texts could not be embedded.

        """

    def close(self) -> None:
        """Release what embedding holds."""


class Reranker(Protocol):
    """Reads a question and a text together and tells how well the text answers it."""

    def reads(self, text: str) -> float:
        """Return how much of a text the model understands: 1 all of it, 0 nothing."""

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Make sure that texts can be judged, fetching what is needed.

        Raises:
            ProviderError: texts cannot be judged now.

        """

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        """Return how likely each passage answers the question, 0 to 1.

        Args:
            question: what is asked.
            passages: what may answer it, the most important first.
            deadline: a time of the monotonic clock; passages not begun by then are left out at
                the end, so the list is shorter.

        Raises:
            ProviderError: the passages could not be judged.

        """

    def close(self) -> None:
        """Release what judging holds."""
