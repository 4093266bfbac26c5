"""What the commands tell: the records a sync, a status or a doctor ends with.

They know nothing of how they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from recollect.types import Degradation, Hit, Results, SourceKind


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be taken in, or an entry of one."""

    path: str
    """With the line behind it, for an entry."""
    reason: str
    action: str
    is_entry: bool = False
    """True where the rest of the file was taken in."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one sync did."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: tuple[Failure, ...] = ()
    left: int = 0
    """New or changed files that were not read for want of time."""
    chunks: int = 0
    """Chunks in the store afterwards."""
    embedded: int = 0
    """Texts embedded by the provider in this sync."""
    reused: int = 0
    """Texts whose vector was in the cache."""
    tokens: int = 0
    """Estimated tokens of the texts embedded."""
    cost: float | None = None
    """Estimated US dollars; None where nothing is paid or no price is known."""
    pending: int = 0
    """Chunks that still have no vector."""
    refused: int = 0
    """Texts among those that the provider does not take."""
    degraded: Mapping[str, Degradation] | None = None
    notices: tuple[str, ...] = ()
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of a memory file."""

    path: str
    start_line: int
    lines: int
    """How many lines the text holds."""
    text: str
    next_line: int | None = None
    """Where to go on reading; None at the end of the file."""


class RecallForm(StrEnum):
    """How much of each hit a recall block shows."""

    FULL = "full"
    SHORT = "short"
    INDEX = "index"
    """Only where it stands, to be read on demand."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The block to put in front of a turn, and what it holds."""

    block: str
    """Empty where memory holds nothing on the prompt."""
    tokens: int
    hits: tuple[Hit, ...]
    """Those that are in the block."""
    results: Results


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What a store holds."""

    location: str
    size_bytes: int
    documents: int
    chunks: int
    by_source: Mapping[str, tuple[int, int]]
    """Documents and chunks per source kind."""
    vectors: int
    """Chunks that have a vector of the fingerprint asked about."""
    pending: int
    """Chunks that have none yet."""
    engine: str
    """How vectors are searched."""
    is_writable: bool


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """What the embedding cache of a home holds."""

    location: str
    vectors: int
    size_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Staleness:
    """How far the store is behind the files."""

    changed: tuple[str, ...]
    """New or changed since the last sync."""
    gone: tuple[str, ...]
    failed: tuple[Failure, ...]
    """Cannot be read, so a sync would not help."""

    @property
    def is_stale(self) -> bool:
        """True when a sync would change something."""
        return bool(self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class Probe:
    """What one real embedding through the provider showed."""

    works: bool
    took_ms: float
    degradation: Degradation | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one memory: what is indexed, by whom it is embedded, what is stale."""

    workspace: str
    agent: str
    store: StoreStatus
    requested_provider: str
    provider: str | None
    model: str | None
    dimensions: int | None
    fingerprint: str | None
    """The space that texts are embedded in."""
    published: str | None
    """The space that searches are served from; another one while a change of model is under way."""
    staleness: Staleness
    skipped: Mapping[str, Degradation]
    """Providers of the chain that were not taken, with the reason; filled by a probe."""
    cache: CacheStatus | None
    """The embedding cache of the home; None when there is none yet."""
    probe: Probe | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a doctor looked at."""

    name: str
    works: bool
    detail: str
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in an index that is not as the files are."""

    path: str
    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What reading everything again showed."""

    files: int
    chunks: int
    vectors: int
    """Chunks that have a vector in the space that is wanted."""
    pending: int
    """Chunks that have none yet: not wrong, only not done."""
    differences: tuple[Difference, ...]
    notices: tuple[str, ...] = ()
    """What opening the index has mended already."""


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One index of a home."""

    agent: str
    location: str
    workspace: str | None
    """None where the index is older than that it was kept, or cannot be read."""
    exists: bool
    """Whether the workspace is still there."""
    documents: int
    chunks: int
    size_bytes: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """One transcript that belongs to a memory."""

    path: str
    """As stored and cited."""
    file: str
    format: str
    size_bytes: int
    is_indexed: bool
    is_forgotten: bool
    is_imported: bool
    """Kept in the home, whatever its agent does with the original."""
    excluded: str | None
    """Why nothing of it is searched."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of something is stored."""

    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class DaySummary:
    """What is stored of one day."""

    date: date | None
    """None for what has no day."""
    by_source: Mapping[str, Amount]
    """A document that tells of several days counts in each."""

    @property
    def total(self) -> Amount:
        """All sources together."""
        amounts = self.by_source.values()
        return Amount(sum(each.documents for each in amounts), sum(each.chunks for each in amounts))


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is stored, day by day."""

    days: tuple[DaySummary, ...]
    """The earliest first; days that hold nothing are left out."""
    undated: DaySummary


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """One document, without its text."""

    path: str
    source: SourceKind
    date: date | None
    title: str | None
    headings: tuple[str, ...]
    """The first few below the title."""
    chunks: int
    """Those that the question may see."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Documents:
    """Some of the documents, and how many there are."""

    documents: tuple[DocumentSummary, ...]
    total: int


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A chunk in the plane."""

    x: float
    y: float
    path: str
    source: SourceKind
    start_line: int
    end_line: int
    heading: tuple[str, ...]
    date: date | None


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """Chunks by meaning, as far as two dimensions can show it."""

    points: tuple[MapPoint, ...]
    total: int
    """Chunks that have a vector; those beyond the points are left out evenly."""
    spread: float
    """Part of the vectors' variance that the two axes carry: 1 is all of it."""
    query: tuple[float, float] | None = None
    nearest: tuple[int, ...] = ()
    """Places in `points` of the chunks nearest to the query by cosine, best first."""
    degraded: Mapping[str, Degradation] | None = None
