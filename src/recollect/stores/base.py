"""The Store protocol: everything above it is the same for every place chunks can live.

A store finds candidates and hands out counts and vectors. It does not score: the formulas are in
`search`, once, so all stores rank alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import EllipsisType
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    from recollect.reports import StoreStatus
    from recollect.types import (
        Background,
        Chunk,
        ChunkKey,
        Document,
        Fingerprint,
        Known,
        Scope,
        SourceKind,
        Vector,
        Vectors,
    )

    Over: TypeAlias = Known | EllipsisType | None
    """What is taken to be stored of a document; `...` is whatever there is."""

FIELDS = ("body", "heading", "path")
"""The searchable fields of a chunk, in the order counts are given."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What keyword scoring needs to know of the whole store."""

    chunks: int
    mean_length: float
    """Average number of body terms a chunk."""
    frequencies: Mapping[str, int]
    """For each query term: in how many chunks it stands."""


@dataclass(frozen=True, slots=True)
class KeywordPool:
    """Chunks that share terms with a query: the best ones, in no promised order."""

    keys: tuple[ChunkKey, ...]
    corpus: Corpus


@dataclass(frozen=True, slots=True)
class VectorPool:
    """Chunks nearest to a query's vector, best first, with their cosines."""

    keys: tuple[ChunkKey, ...]
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything scoring needs for a list of chunks, row by row in the order asked for."""

    keys: tuple[ChunkKey, ...]
    chunks: tuple[Chunk, ...]
    counts: npt.NDArray[np.uint8]
    """Term counts: chunk by term by field."""
    lengths: npt.NDArray[np.int64]
    """Body terms a chunk."""
    vectors: Vectors
    has_vector: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Missing:
    """A text, or a media file, that has no vector yet."""

    digest: str
    text: str
    """What is embedded; of a media file its label."""
    path: str = ""
    """The media file whose bytes are embedded with the label; empty for a text."""
    size_bytes: int = 0
    """Of that file, as it was taken in."""


@dataclass(frozen=True, slots=True)
class Space:
    """What a store knows of one vector space."""

    dimensions: int
    """0 before the first vector, where only the model knows."""
    background: Background | None
    is_published: bool
    """Searches are served from it: it was complete once, and none has replaced it since."""


class Store(Protocol):
    """Holds documents, chunks, terms and vectors of one agent."""

    def known(self) -> Mapping[tuple[SourceKind, str], Known]:
        """Return what is stored of each document, by source and path."""

    def known_of(self, path: str, *, source: SourceKind) -> Known | None:
        """Return what is stored of one document."""

    def put(
        self, document: Document, chunks: Sequence[Chunk], *, recipe: str, over: Over = ...
    ) -> bool:
        """Store a document with its chunks in one step, replacing what was there.

        Args:
            document: to be stored.
            chunks: of the document.
            recipe: identity of the rules it was divided by.
            over: what was there when the decision was made; should another process have stored
                something else since, nothing happens and the answer is False.

        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reading inside see one state: what others write meanwhile is not seen."""

    def touch(self, document: Document) -> None:
        """Remember a new stat of a document, where what is stored still has its digest."""

    def drop(self, path: str, *, source: SourceKind, over: Over = ...) -> bool:
        """Forget a document, unless another one than `over` is there; tell whether it did.

        Vectors of its texts stay usable for equal texts.
        """

    def missing(
        self, fingerprint: Fingerprint, *, limit: int, after: str = "", media: bool = False
    ) -> Sequence[Missing]:
        """Return texts that have no vector in this space, each once, in the order of digests.

        Args:
            fingerprint: the space.
            limit: how many at most.
            after: go on behind this digest.
            media: return media files instead, which not every provider can embed.

        """

    def put_vectors(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], vectors: Vectors
    ) -> None:
        """Store vectors by the digest of their text, in one step."""

    def space(self, fingerprint: Fingerprint) -> Space | None:
        """Return what is known of a space; None when nothing of it is stored."""

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Remember how unrelated texts are spread in a space."""

    def published(self) -> Fingerprint | None:
        """Return the space that searches are served from."""

    def publish(self, fingerprint: Fingerprint) -> None:
        """Serve searches from this space from now on, in one step."""

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Drop vectors of other spaces and of texts that no chunk holds; return how many.

        A few are left where they are: dropping is only worth its cost when there are many.
        """

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int) -> KeywordPool:
        """Return up to `limit` chunks in scope that hold any of the terms."""

    def nearest(
        self, fingerprint: Fingerprint, *, vector: Vector, scope: Scope, limit: int
    ) -> VectorPool:
        """Return the chunks in scope whose vectors are nearest, within one space only."""

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        """Return chunks, term counts and vectors; keys that no longer exist are left out."""

    def status(self, fingerprint: Fingerprint | None, *, media: bool = False) -> StoreStatus:
        """Return sizes and counts.

        Args:
            fingerprint: whose vectors are counted.
            media: media files wait for a vector too: the provider embeds them.

        """

    def clear(self) -> None:
        """Forget everything, cached vectors too."""

    def close(self) -> None:
        """Release the store; it cannot be used afterwards."""
