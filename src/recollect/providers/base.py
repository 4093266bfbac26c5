"""The Provider protocol and the options of choosing one."""

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
