"""The contract of a store, in small roles; `RamStore` is the executable definition.

A store finds candidates and returns term counts and vectors. It has no formula of its own, so that
every store ranks alike: that of the keyword leg is in `bm25`, all others are in `search`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from recollect.records import dataclass
from recollect.types import Known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import EllipsisType
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    from recollect.reports import DaySummary, Documents, IndexStatus
    from recollect.types import (
        Background,
        Chunk,
        ChunkKey,
        Document,
        Fingerprint,
        Scope,
        SourceKind,
        SupersededFact,
        Vectors,
    )

    Expected: TypeAlias = Known | EllipsisType | None
    """The stored state that a write assumes; None means not stored, `...` accepts any state."""
    Name: TypeAlias = tuple[SourceKind, str]
    """The source and the path of a document, which identify it."""

Answer = TypeVar("Answer")

FIELDS = ("body", "heading", "path")
"""The searchable fields of a chunk, in the order of term counts."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Statistics that keyword scoring needs, of everything but the facts of other scopes."""

    chunks: int
    mean_length: float
    """Average number of body terms per chunk."""
    frequencies: Mapping[str, int]
    """Number of chunks that contain a query term, by term."""


@dataclass(frozen=True, slots=True)
class KeywordPool:
    """The chunks that score highest for a query's terms, best first."""

    keys: tuple[ChunkKey, ...]
    corpus: Corpus


@dataclass(frozen=True, slots=True)
class VectorPool:
    """The chunks nearest to a query vector, best first, with their cosines."""

    keys: tuple[ChunkKey, ...]
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that scoring needs of some chunks, in the order they were asked for."""

    keys: tuple[ChunkKey, ...]
    chunks: Sequence[Chunk]
    counts: npt.NDArray[np.uint8]
    """Term counts: chunk by term by field."""
    lengths: npt.NDArray[np.int64]
    """Body terms per chunk."""
    vectors: Vectors
    has_vector: npt.NDArray[np.bool_]
    products: npt.NDArray[np.float64] | None = None
    """Cosines with each vector of the question that was asked before, and last the products with
    the mean of all vectors here. A store far away returns these instead of the vectors."""
    foreign: Sequence[str] | None = None
    """The texts with more than Latin letters, which not every model reads, and '' for others."""
    ask_texts: Callable[[Sequence[ChunkKey]], None] | None = None
    """Asks for the texts of some chunks, with what is asked last. A store far away sends the others
    when one of them is read."""


@dataclass(frozen=True, slots=True)
class SpaceTexts:
    """The texts that should have a vector in a space."""

    fingerprint: Fingerprint
    media: bool = False
    """Whether media files count, which only some providers can embed."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A text or a media file that has no vector yet."""

    digest: str
    text: str
    """The text to embed; for a media file, its label."""
    path: str = ""
    """The media file to embed together with its label; empty for a text."""
    size_bytes: int = 0
    """Size of that file when it was indexed."""
    number: int = 0
    """The store's number of the text: they ascend in the order texts were first stored."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the chunks of a store have vectors."""

    chunks: int
    pending: int
    """Chunks that have none yet."""


@dataclass(frozen=True, slots=True)
class Space:
    """What a store knows about one vector space."""

    dimensions: int
    """0 before the first vector if only the model knows."""
    background: Background | None
    is_published: bool
    """True if searches use it: it was complete once, and no other space has replaced it."""


@dataclass(frozen=True, slots=True)
class SpaceVectors:
    """Vectors of a question, in the space that they are compared in."""

    fingerprint: Fingerprint
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Near:
    """What a vector space proposes for the vectors of a question."""

    space: Space | None
    """None if nothing of it is stored."""
    pools: tuple[VectorPool, ...]
    """One for each vector; none if they have another length than those of the space."""

    @property
    def is_comparable(self) -> bool:
        """Whether the vectors of the question fit the space."""
        return bool(self.pools)


@dataclass(frozen=True, slots=True)
class Proposals:
    """What both legs propose for a question."""

    keyword: KeywordPool
    near: Near | None
    """None if no vector was asked for, or if the store has no chunks."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lease."""

    token: str
    """Identifies this claim; only its holder knows it."""
    purpose: str
    """What the process does, in words for the user."""
    pid: int
    host: str
    since: float
    beat: float
    """Last heartbeat; like `since`, in seconds of the wall clock."""


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document to store, with all its chunks, or with new stats alone."""

    document: Document
    chunks: Sequence[Chunk] | None
    """None if only the stats changed: they are stored if the stored digest still is this one."""
    recipe: str
    """Identity of the rules that made the chunks."""
    expected: Expected = ...
    """The stored state when the caller decided to write."""

    @property
    def name(self) -> Name:
        """The name of the document."""
        return self.document.source, self.document.path

    @property
    def known(self) -> Known:
        """The stored state after the write of a document with its chunks."""
        new = self.document
        return Known(new.path, new.source, new.digest, new.stat, self.recipe, new.is_settled)


_patience: ContextVar[float | None] = ContextVar("_patience", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Limit how long transactions of the body, in this thread, wait for writers or connections."""
    previous = _patience.set(max(0.001, seconds))
    try:
        yield
    finally:
        _patience.reset(previous)


def patience_seconds(longest: float) -> float:
    """Return how long to wait: so long, or less if a limit is set."""
    limit = _patience.get()
    return longest if limit is None else min(longest, limit)


def published_in(spaces: Mapping[Fingerprint, Space]) -> Fingerprint | None:
    """Return the space that searches use."""
    return next((each for each, space in spaces.items() if space.is_published), None)


def is_expected(
    write: DocumentWrite, known: Callable[[Iterable[Name]], Mapping[Name, Known]]
) -> bool:
    """Return whether the state that a write expects is the stored one, which `known` returns."""
    return write.expected is ... or write.expected == known([write.name]).get(write.name)


class Store(Protocol):
    """Holds the documents, chunks, terms and vectors of one agent."""

    is_shared: bool = True
    """True if other processes can open the store."""
    is_replacement: bool = False
    """True after another store took the place of a damaged or deleted one, until a sync."""
    is_writable: bool = True
    """False if the store could only be opened for reading."""

    @property
    def location(self) -> str:
        """Where the store is, in words for the user."""

    # Documents, with their chunks and terms

    def known(self, names: Iterable[Name] | None = None) -> Mapping[Name, Known]:
        """Return the stored state of these documents, of those that are stored; None is all."""

    def put_many(self, writes: Sequence[DocumentWrite], *, jointly: bool = False) -> list[bool]:
        """Store documents in order and in one step, each replacing its previous version.

        Others see all of them or none. Returns for each whether it was stored: one whose stored
        state is not the expected one, because another process has changed it, is left out, and
        with `jointly` all of them are.
        """

    def drop_many(self, gone: Sequence[Known]) -> None:
        """Remove documents in one step, except those changed since; vectors of equal texts stay."""

    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        """Return the chunks of a document in the order of its lines."""

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        """Return chunks, term counts and vectors; skips keys that no longer exist."""

    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        """Return the facts in the scope's audience that no longer hold, with their successors."""

    # Vectors, by space and text digest

    def missing(self, texts: SpaceTexts, *, limit: int, after: int = 0) -> Sequence[Missing]:
        """Return texts without a vector, each once, in the order of their numbers.

        With `media`, only media files are returned; `after` continues after a number.
        """

    def coverage(self, texts: SpaceTexts | None) -> Coverage:
        """Return how many chunks there are, and how many have no vector; None counts no vectors."""
        status = self.status(texts)
        return Coverage(status.chunks, status.pending)

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Store vectors by the digest of their text, in one step; those that are there stay.

        With them go the word codes of each text, if the model has them. If they do not fit the
        space, nothing is stored, and VectorsRejectedError says why.
        """

    def spaces(self) -> Mapping[Fingerprint, Space]:
        """Return every space of which something is stored, in the order of their names."""

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Keep how the cosines of unrelated texts are distributed in a space."""

    def publish(self, fingerprint: Fingerprint) -> None:
        """Make searches use a space instead of another."""

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Delete vectors of other spaces and of texts no chunk has, if many; return how many."""

    def word_codes(
        self, fingerprint: Fingerprint, *, keys: Sequence[ChunkKey]
    ) -> Mapping[ChunkKey, bytes]:
        """Return the word codes of these chunks in this space, of those that have some."""

    # What is stored, counted and sampled within a Scope: nothing outside it is counted

    def version(self) -> tuple[int, ...]:
        """Return a value that changes whenever a chunk or a vector is added or a chunk removed."""

    def holds(self, scope: Scope | None = None) -> bool:
        """Return whether any chunk is in scope; without one, whether any document is stored."""

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        """Return documents with chunks in scope, newest first, undated last."""

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        """Return the amount stored per day, earliest first; undated chunks come before all."""

    def embedded(self, fingerprint: Fingerprint | None, *, scope: Scope) -> npt.NDArray[np.int64]:
        """Return the keys of all chunks in scope that have a vector in this space, in order.

        None returns all chunks in scope.
        """

    # Threads and processes that use one store at the same time

    def share(self) -> tuple[Store, tuple[str, ...]]:
        """Open the same store for another thread, with notices for the user; close both."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads inside see one state: writes of others stay invisible."""

    def lease(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        """Ask who shall hold a lease, given who holds it; record and return the answer.

        Any thread may call this. An answer that changes nothing needs no right to write; any other
        is asked for again in the step that records it.
        """

    # Reports, checks and upkeep

    def meta(self, prefix: str) -> Mapping[str, str]:
        """Return the values kept beside the documents whose keys begin so, in order of keys."""

    def put_meta(self, key: str, value: str | None) -> None:
        """Keep a value under a key, beside the documents; None forgets it."""

    def status(
        self, texts: SpaceTexts | None, *, audience: frozenset[str] | None = None
    ) -> IndexStatus:
        """Return sizes and counts; None counts no vectors.

        With an audience, only facts of these scopes count, and as size only the texts.
        """

    def check(self, *, deep: bool = False) -> list[str]:
        """Return what is broken in the store; `deep` also compares what is derived from chunks."""
        del deep
        return []

    def recovering(
        self, work: Callable[[], Answer], *, tell: Callable[[tuple[str, ...]], None]
    ) -> Answer:
        """Do work on the store; if it is damaged, replace it, `tell` the user, and do it again.

        A single failed read can look like damage, so it is read again before it is replaced. If
        another process replaced or deleted it, the work is done on what is in its place now.
        """
        del tell
        return work()

    def clear(self) -> None:
        """Delete everything that can be indexed again, vectors and open batches included."""

    def close(self) -> None:
        """Release the store; it cannot be used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def propose(
        self,
        terms: Sequence[str],
        *,
        asked: SpaceVectors | None,
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        """Return the chunks that score highest by `stores.bm25`, and those nearest to each vector.

        A chunk needs one of the terms, of which those in `stop` are function words. The limit is
        that of each leg, and of each vector.
        """
