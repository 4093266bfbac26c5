"""The contract of a store: small roles that together are a `Store`, and the records they use.

A store finds candidates and returns term counts and vectors. It has no formula of its own: that of
the keyword leg is in `bm25`, and all others are in `search`, so that every store ranks alike.
`RamStore` is the executable definition.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol, TypeVar

from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import date
    from types import EllipsisType
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    from recollect.reports import CacheStatus, DaySummary, Documents, StoreStatus
    from recollect.types import (
        Background,
        Chunk,
        ChunkKey,
        Document,
        Fingerprint,
        Known,
        Phrase,
        Scope,
        SourceKind,
        SupersededFact,
        Vector,
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
    """For each query term, the number of chunks that contain it."""


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
    """A store may make each when it is first asked for: scoring needs only the columns below."""
    paths: Sequence[str]
    sources: Sequence[SourceKind]
    start_lines: Sequence[int]
    end_lines: Sequence[int]
    days: Sequence[date | None]
    importance: Sequence[int | None]
    texts: Sequence[str]
    counts: npt.NDArray[np.uint8]
    """Term counts: chunk by term by field."""
    lengths: npt.NDArray[np.int64]
    """Body terms per chunk."""
    vectors: Vectors
    has_vector: npt.NDArray[np.bool_]


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
    near: Mapping[Fingerprint, Near]
    """By space; nothing if the store has no chunks."""


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
    """A document to store, with all its chunks."""

    document: Document
    chunks: Sequence[Chunk]
    recipe: str
    """Identity of the rules that made the chunks."""
    expected: Expected = ...
    """The stored state when the caller decided to write."""


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Whether the library behind a kind of store works here."""

    name: str
    works: bool
    detail: str
    action: str = ""
    """What to do if it does not."""


def published_in(spaces: Mapping[Fingerprint, Space]) -> Fingerprint | None:
    """Return the space that searches use."""
    return next((each for each, space in spaces.items() if space.is_published), None)


def propose_by(
    nearest: Callable[[Fingerprint, Vector], VectorPool],
    keyword: KeywordPool,
    *,
    vectors: Mapping[Fingerprint, Vectors],
    spaces: Mapping[Fingerprint, Space],
) -> Proposals:
    """Return what both legs propose, asking for each vector that fits its space by itself."""
    near: dict[Fingerprint, Near] = {}
    for fingerprint, asked in vectors.items() if keyword.corpus.chunks else ():
        space = spaces.get(fingerprint)
        fits = space is None or space.dimensions in (0, asked.shape[1])
        pools = (nearest(fingerprint, vector) for vector in (asked if fits else ()))
        near[fingerprint] = Near(space, tuple(pools))
    return Proposals(keyword, near)


def is_expected(store: DocumentStore, write: DocumentWrite) -> bool:
    """Return whether the state that a write expects is the stored one."""
    name = (write.document.source, write.document.path)
    return write.expected is ... or write.expected == store.known([name]).get(name)


class DocumentStore(Protocol):
    """Stores documents together with their chunks and terms."""

    def known(self, names: Iterable[Name] | None = None) -> Mapping[Name, Known]:
        """Return the stored state of these documents, of those that are stored; None is all."""

    def put_many(self, writes: Sequence[DocumentWrite], *, jointly: bool = False) -> list[bool]:
        """Store documents in order and in one step, each replacing its previous version.

        Others see all of them or none. Returns for each whether it was stored: one whose stored
        state is not the expected one, because another process has changed it, is left out, and
        with `jointly` all of them are.
        """

    def touch_many(self, documents: Sequence[Document]) -> None:
        """Update the stats of documents whose stored digest is still the same, in one step."""

    def drop_many(self, gone: Sequence[Known]) -> None:
        """Remove documents in one step, except those that another process has changed since.

        The vectors of their texts stay, for equal texts elsewhere.
        """

    def chunks_of(self, path: str, *, source: SourceKind) -> Sequence[Chunk]:
        """Return the chunks of a document in the order of its lines."""

    def load(
        self, keys: Sequence[ChunkKey], *, terms: Sequence[str], fingerprint: Fingerprint | None
    ) -> Loaded:
        """Return chunks, term counts and vectors; skips keys that no longer exist."""

    def superseded(self, scope: Scope) -> Sequence[SupersededFact]:
        """Return the facts in the scope's audience that no longer hold, with their successors."""


class VectorIndex(Protocol):
    """Stores vectors by space and text digest."""

    def missing(  # noqa: PLR0913 - what to leave out
        self,
        fingerprint: Fingerprint,
        *,
        limit: int,
        after: int = 0,
        media: bool = False,
        words: bool = False,
        other: Fingerprint | None = None,
    ) -> Sequence[Missing]:
        """Return texts without a vector in this space, each once, in the order of their numbers.

        Args:
            fingerprint: the space.
            limit: the most texts to return.
            after: continue after the text with this number.
            media: return media files instead, which only some providers can embed.
            words: return texts without word codes, too.
            other: leave out texts that have a vector in this other space.

        """

    def note_embedded(
        self, fingerprint: Fingerprint, *, words: bool, other: Fingerprint | None
    ) -> None:
        """Remember what is missing now: a store may then look only at what is newer.

        Args:
            fingerprint: the space.
            words: whether texts without word codes count as missing.
            other: the other space in which a text may have its vector.

        """
        del fingerprint, words, other

    def put_vectors(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Store vectors by the digest of their text, in one step; those that are there stay.

        Args:
            fingerprint: the space.
            digests: of the texts.
            vectors: one for each text.
            words: the word codes of each text, if the model has them.

        Raises:
            VectorsRejectedError: they do not fit the space; nothing was stored.

        """

    def spaces(self) -> Mapping[Fingerprint, Space]:
        """Return every space of which something is stored, in the order of their names."""

    def put_space(
        self,
        fingerprint: Fingerprint,
        *,
        background: Background | None = None,
        publish: bool = False,
    ) -> None:
        """Describe a space, in one step.

        Args:
            fingerprint: the space.
            background: how the cosines of unrelated texts are distributed in it; None leaves it.
            publish: make searches use this space instead of another.

        """

    def prune(self, *, keep: Collection[Fingerprint]) -> int:
        """Delete vectors of other spaces and of texts that no chunk has; return how many.

        A store may leave a few: deleting pays only when there are many.
        """

    def word_codes(
        self, fingerprint: Fingerprint, *, keys: Sequence[ChunkKey]
    ) -> Mapping[ChunkKey, bytes]:
        """Return the word codes of these chunks in this space, of those that have some."""


class StoreOverview(Protocol):
    """Counts and samples what is stored, within a Scope: nothing outside it is counted."""

    def version(self) -> tuple[int, ...]:
        """Return a value that changes whenever a chunk or a vector is added or a chunk removed."""

    def holds(self, scope: Scope | None = None) -> bool:
        """Return whether any chunk is in scope; without one, whether any document is stored."""

    def occurring_phrases(self, scope: Scope) -> frozenset[Phrase]:
        """Return the scope's phrases that some chunk in the rest of the scope contains.

        Reads no text twice, and none of a chunk that lacks a term of each phrase.
        """

    def documents(self, scope: Scope, *, limit: int, offset: int) -> Documents:
        """Return documents with chunks in scope, newest first, undated last."""

    def days(self, scope: Scope) -> tuple[DaySummary, ...]:
        """Return the amount stored per day, earliest first; undated chunks come before all."""

    def embedded(self, fingerprint: Fingerprint, *, scope: Scope) -> npt.NDArray[np.int64]:
        """Return the keys of all chunks in scope that have a vector in this space, in order."""


class Leases(Protocol):
    """Named claims that processes make on a store, so that long work is not done twice.

    A handle belongs to one thread. A lease is a promise, not a lock.
    """

    def holder(self, name: str) -> Holder | None:
        """Return who holds a lease."""

    def change(self, name: str, decide: Callable[[Holder | None], Holder | None]) -> Holder | None:
        """Ask who shall hold a lease, given who holds it, and record the answer in one step.

        Raises:
            StoreError: the store cannot be written.

        """

    def close(self) -> None:
        """Release the handle."""


class SharedStore(Protocol):
    """Lets threads and processes use one store at the same time."""

    is_shared: bool = True
    """True if other processes can open the store."""

    def share(self) -> tuple[Store, tuple[str, ...]]:
        """Open the same store for another thread, with notices for the user; close both."""

    def follow(self) -> tuple[str, ...]:
        """Switch to the store that is now in the place of this one, if it was replaced or deleted.

        Returns notices for the user.
        """
        return ()

    def snapshot(self) -> AbstractContextManager[None]:
        """Make all reads inside see one state: writes of others stay invisible."""

    def patience(self, seconds: float) -> AbstractContextManager[None]:
        """Limit how long writes inside wait for another writer.

        It applies to this thread and to the store's leases and vector cache as well.
        """
        del seconds
        return nullcontext()

    def leases(self) -> Leases:
        """Return a handle to the store's leases, for the calling thread."""


class StoreUpkeep(Protocol):
    """Reports on a store, checks it, repairs it and closes it."""

    is_replacement: bool = False
    """True after another store took the place of a damaged or deleted one, until a sync."""

    @property
    def location(self) -> str:
        """Where the store is, in words for the user."""

    is_writable: bool = True
    """False if the store could only be opened for reading."""

    def meta(self, prefix: str) -> Mapping[str, str]:
        """Return the values kept beside the documents whose keys begin so, in order of keys."""

    def put_meta(self, key: str, value: str | None) -> None:
        """Keep a value under a key, beside the documents; None forgets it."""

    def status(
        self,
        fingerprint: Fingerprint | None,
        *,
        media: bool = False,
        audience: frozenset[str] | None = None,
        other: Fingerprint | None = None,
    ) -> StoreStatus:
        """Return sizes and counts.

        Args:
            fingerprint: the space whose vectors are counted.
            media: count media files without a vector as pending too.
            audience: count only facts of these scopes, and as size only the texts; None is all.
            other: count vectors in this space too; a text has one in either.

        """

    def coverage(
        self,
        fingerprint: Fingerprint | None,
        *,
        media: bool = False,
        other: Fingerprint | None = None,
    ) -> Coverage:
        """Return what `status` counts for these arguments: a store may know it for less."""
        status = self.status(fingerprint, media=media, other=other)
        return Coverage(status.chunks, status.pending)

    def check(self) -> list[str]:
        """Read the whole store and return what is broken: nothing if it is sound."""
        return []

    def require_sound(self) -> None:
        """Read the whole store, and forget what `note_embedded` remembered of it.

        Raises:
            StoreCorruptError: it is damaged.

        """
        self.check()

    def audit(self) -> list[str]:
        """Return where terms, counts or vectors disagree with the chunks."""
        return []

    def recovering(
        self, work: Callable[[], Answer], *, tell: Callable[[tuple[str, ...]], None]
    ) -> Answer:
        """Do work on the store; if it is damaged, repair or replace it and do the work again.

        A single failed read can look like damage, so it is read again before it is replaced.

        Args:
            work: may be done several times.
            tell: called with notices for the user.

        Raises:
            StoreError: it cannot be replaced.

        """
        del tell
        return work()

    def clear(self) -> None:
        """Delete everything that can be indexed again, vectors and open batches included."""

    def close(self) -> None:
        """Release the store; it cannot be used afterwards."""


class Store(
    DocumentStore,
    VectorIndex,
    StoreOverview,
    SharedStore,
    StoreUpkeep,
    Protocol,
):
    """Holds the documents, chunks, terms and vectors of one agent."""

    def propose(
        self,
        terms: Sequence[str],
        *,
        vectors: Mapping[Fingerprint, Vectors],
        scope: Scope,
        limit: int,
        stop: Collection[str] = (),
    ) -> Proposals:
        """Return the chunks that score highest by `stores.bm25`, and those nearest to each vector.

        Args:
            terms: of the question; a chunk needs one of them.
            vectors: of the question, by their space.
            scope: which chunks may be seen.
            limit: how many of each leg, and of each vector.
            stop: which of the terms are function words.

        """


class VectorCache(Protocol):
    """Vectors by space and text digest, shared by all stores of a home and limited in size.

    Every method raises StoreError if the cache cannot be used.
    """

    def get(
        self, fingerprint: Fingerprint, *, digests: Sequence[str], today: date
    ) -> dict[str, Vector]:
        """Return the cached vectors by digest, and record that they were used today."""

    def words(self, fingerprint: Fingerprint, *, digests: Sequence[str]) -> dict[str, bytes]:
        """Return the cached word codes by digest, of those that have some."""

    def put(
        self,
        fingerprint: Fingerprint,
        *,
        digests: Sequence[str],
        vectors: Vectors,
        today: date,
        words: Sequence[bytes] | None = None,
    ) -> None:
        """Cache vectors and word codes, in one step; word codes are added to cached vectors."""

    def background(self, fingerprint: Fingerprint) -> Background | None:
        """Return the measured background of a space."""

    def put_background(self, fingerprint: Fingerprint, background: Background) -> None:
        """Cache the measured background of a space."""

    def status(self) -> CacheStatus | None:
        """Return how full the cache is; None if it was never used."""

    def trim(self) -> int:
        """Delete the vectors unused for longest until the rest fits; return how many."""

    def prune(self, *, unused_since: date | None) -> int:
        """Delete vectors not used since a day, or all of them; return how many."""

    def close(self) -> None:
        """Release the cache."""
