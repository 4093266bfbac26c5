"""What commands report: the results of a sync, a status, a verification, an overview."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, datetime

    from recollect.types import Degradation, Hit, Results, SourceKind


@dataclass(frozen=True, slots=True)
class Failure:
    """What is wrong with a file, an entry of one, or what is indexed of it."""

    shape = Shape(hidden="is_entry is_left_out setting is_stored")
    path: str
    """Path, followed by its line for an entry."""
    reason: str
    action: str
    is_entry: bool = False
    """True if the rest of the file was indexed."""
    is_left_out: bool = False
    """True if a setting leaves the file out: what is stored of it is dropped."""
    setting: str = ""
    """The setting that names the path, if the path is wrong there; empty for a file."""
    is_stored: bool = False
    """True if an earlier version of it stays in the index."""

    @property
    def summary(self) -> str:
        """The path and the reason, without a full stop."""
        if self.setting:
            return f"{self.setting}: {self.path} {self.reason}"
        return f"{self.path}: {self.reason}"

    @property
    def notice(self) -> str:
        """What the index lacks by it, why, and what to do, in sentences."""
        if self.setting:
            return f"{self.summary}. {self.action}"
        if self.is_entry:
            return f"{self.path} {self.reason}. {self.action}"
        lack = "is not up to date" if self.is_stored else "is not indexed"
        return f"{self.path} {lack}: it {self.reason}. {self.action}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one sync did."""

    shape = Shape(hidden="left refused")
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: tuple[Failure, ...] = ()
    left: int = 0
    """New or changed files that were not read because time ran out."""
    chunks: int = 0
    """Chunks in the store after the sync."""
    embedded: int = 0
    """Texts embedded by the provider in this sync."""
    reused: int = 0
    """Texts whose vector was in the cache."""
    tokens: int = 0
    """Estimated tokens of the texts embedded."""
    pending: int = 0
    """Chunks that still have no vector."""
    refused: int = 0
    """Texts among those that the provider does not accept."""
    degraded: Mapping[str, Degradation] | None = None
    notices: tuple[str, ...] = ()
    took_ms: float = 0.0

    @property
    def is_nothing_embedded(self) -> bool:
        """Whether there was something to embed, and the provider embedded none of it."""
        is_waiting = self.pending > self.refused
        return bool(self.degraded) and is_waiting and not (self.embedded or self.reused)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of a memory file."""

    shape = Shape({"start_line": "from", "next_line": "nextFrom"}, added="is_truncated")
    path: str
    start_line: int
    lines: int
    """How many lines the text has."""
    text: str
    next_line: int | None = None
    """Where the next excerpt starts; None at the end of the file."""

    @property
    def is_truncated(self) -> bool:
        """Whether the file goes on."""
        return self.next_line is not None


RECALL_TOKENS = 800
"""Tokens of a block for a turn by default."""


class RecallForm(StrEnum):
    """How much of each hit a recall block shows."""

    FULL = "full"
    SHORT = "short"
    INDEX = "index"
    """Locations only, to be read on demand."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The block to put in front of a turn, and what it holds."""

    shape = Shape(hidden="hits results", null="reason", added="citations notices")
    block: str
    """Empty if memory holds nothing about the prompt."""
    tokens: int
    hits: tuple[Hit, ...]
    """The hits in the block."""
    results: Results
    reason: str = ""
    """Why the block is empty; empty if it is not."""

    @property
    def citations(self) -> tuple[str, ...]:
        """Where the hits in the block are."""
        return tuple(hit.citation for hit in self.hits)

    @property
    def notices(self) -> tuple[str, ...]:
        """What else the user should know."""
        return self.results.notices


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """A PostgreSQL database as an operator sees it."""

    shape = Shape({"has_open_temp": "openTemp"})
    location: str
    server: str
    """The version of PostgreSQL."""
    extensions: Mapping[str, str]
    """The versions of pgvector and Citus, by the extension's name."""
    version: int
    """How many changes of the tables were applied."""
    newest: int
    """How many this Recollect knows."""
    is_guarded: bool
    """False if this role sees every tenant, whatever the policies say."""
    has_open_temp: bool
    """Whether every role may create temporary objects."""
    groups: Mapping[str, str]
    """The roles that agents and servers of this database are granted."""
    rows: Mapping[str, int]
    """About how many memories, documents and chunks there are; empty on a Citus coordinator."""


@dataclass(frozen=True, slots=True)
class BuiltIndexes:
    """What `server index` did in a database."""

    built: int
    dropped: int


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """What the embedding cache of a home holds; nothing if there is none yet."""

    shape = Shape({"location": "path", "size_bytes": "bytes"}, null="location")
    location: str = ""
    vectors: int = 0
    size_bytes: int = 0
    max_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Staleness:
    """How far the store is behind the files."""

    changed: tuple[str, ...]
    """New or changed since the last sync."""
    gone: tuple[str, ...]
    failed: tuple[Failure, ...]
    """Files that cannot be read, so a sync would not help."""

    @property
    def is_stale(self) -> bool:
        """True if a sync would change something."""
        return bool(self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class Probe:
    """The outcome of one real embedding through the provider."""

    shape = Shape(merged="degradation")
    works: bool
    took_ms: float
    degradation: Degradation | None = None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How much is indexed, and where."""

    shape = Shape({"location": "path", "size_bytes": "bytes"}, hidden="vectors pending engine")
    location: str
    size_bytes: int
    is_writable: bool
    documents: int
    chunks: int
    tokens: int
    """About how many a model sees in all chunks."""
    by_source: Mapping[str, Amount]
    vectors: int
    """Chunks with a vector in a space asked about."""
    pending: int
    """Chunks without one yet."""
    engine: str
    """How vectors are searched."""


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """Which provider and model embed the texts."""

    requested: str
    """The setting."""
    name: str | None
    model: str | None
    dimensions: int | None
    skipped: Mapping[str, Degradation]
    """Providers of the chain that were not chosen, and why; filled by a probe."""


@dataclass(frozen=True, slots=True)
class KeywordStatus:
    """What the keyword leg can find."""

    chunks: int


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """What the vector leg can find."""

    engine: str
    """How vectors are searched."""
    chunks: int
    """Chunks with a vector."""
    pending: int
    """Chunks without one yet."""
    space: str | None
    """The space that texts are embedded in."""
    served_from: str | None
    """The space that searches use; another one while the model is being changed."""


@dataclass(frozen=True, slots=True)
class LegsStatus:
    """What each leg can find."""

    keyword: KeywordStatus
    vector: VectorStatus


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one memory: what is indexed, which provider embeds it, what is stale."""

    shape = Shape(optional="also checkouts recalls")
    workspace: str
    agent: str
    index: IndexStatus
    provider: ProviderStatus
    legs: LegsStatus
    cache: CacheStatus | None
    """The embedding cache of the home; None if there is none yet."""
    stale: Staleness
    probe: Probe | None = None
    at_work: str | None = None
    """Which process is bringing the index up to date now; None if none is."""
    also: Mapping[str, Amount] = field(default_factory=dict)
    """What is indexed of the memories that are searched with this one, by their names."""
    checkouts: tuple[str, ...] = ()
    """The same folder in other worktrees of its repository, which share conversations and facts."""
    recalls: tuple[int, ...] = ()
    """How many tokens each of the last recalls put into a prompt, the newest last."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check of `recollect doctor`."""

    shape = Shape({"works": "ok"})
    name: str
    works: bool
    detail: str
    action: str | None = None
    is_warning: bool = False
    """True if it works, and the user should know something about it."""


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """Where a file of the memory contains a secret; never the secret itself."""

    path: str
    line: int
    kind: str
    """Kind in words for people: `GitHub token`, `password`."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of comparing the index with the files."""

    shape = Shape(added="ok")
    files: int
    chunks: int
    vectors: int
    """Chunks with a vector in the wanted space."""
    pending: int
    """Chunks without one yet: not wrong, only not done."""
    differences: tuple[Failure, ...]
    """What in the index disagrees with the files, or cannot be compared."""
    notices: tuple[str, ...] = ()
    """What was repaired when the index was opened."""

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One index of a home."""

    shape = Shape({"location": "path", "exists": "workspaceExists", "size_bytes": "bytes"})
    agent: str
    location: str
    workspace: str | None
    """Workspace; None if the index cannot be read."""
    exists: bool
    """Whether the workspace still exists."""
    documents: int
    chunks: int
    size_bytes: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """One transcript that belongs to a memory."""

    shape = Shape(
        {"size_bytes": "bytes"},
        hidden="is_indexed is_forgotten excluded",
        null="title",
        added="state",
    )
    path: str
    """Path as stored and cited."""
    file: str
    format: str
    size_bytes: int
    is_indexed: bool
    is_forgotten: bool
    is_imported: bool
    """Whether a copy is kept in the home."""
    excluded: str | None
    """Why it is not searched."""
    title: str = ""
    """Title of an exported conversation."""
    changed: date | None = None
    """The day on which it last changed, in UTC; None if that is unknown."""

    @property
    def state(self) -> str:
        """What became of it, in a word or two."""
        if self.is_forgotten:
            return "forgotten"
        if self.excluded:
            return f"left out: {self.excluded}"
        return "indexed" if self.is_indexed else "not indexed"


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of documents and chunks."""

    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Amounts:
    """What is stored of each source."""

    shape = Shape(added="total", merged="total")
    by_source: Mapping[str, Amount]
    """A document about several days counts in each."""

    @property
    def total(self) -> Amount:
        """All sources together."""
        amounts = self.by_source.values()
        return Amount(sum(each.documents for each in amounts), sum(each.chunks for each in amounts))


@dataclass(frozen=True, slots=True)
class DaySummary:
    """What is stored of one day."""

    shape = Shape(merged="amounts")
    date: date | None
    """None for undated documents."""
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is stored, day by day."""

    days: tuple[DaySummary, ...]
    """Earliest first; days without documents are left out."""
    undated: Amounts


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
    """Chunks in scope."""
    size_bytes: int
    first_line: str = ""
    """The first line of a note that is not a heading, shortened."""
    tags: tuple[str, ...] = ()
    changed: datetime | None = None
    """When its file last changed."""


@dataclass(frozen=True, slots=True)
class Documents:
    """A page of documents, and how many there are in all."""

    documents: tuple[DocumentSummary, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk without its text."""

    path: str
    source: SourceKind
    start_line: int
    end_line: int
    heading: tuple[str, ...]
    date: date | None


@dataclass(frozen=True, slots=True)
class MapPoint(Passage):
    """A chunk on the map."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class RelatedNote(Passage):
    """A document whose meaning is close to another, by the passage that is closest."""

    similarity: float
    """Cosine of the closest two passages."""


@dataclass(frozen=True, slots=True)
class Related:
    """The documents closest to one, best first, and those that links connect it with."""

    notes: tuple[RelatedNote, ...]
    degraded: Mapping[str, Degradation] | None = None
    links: tuple[str, ...] = ()
    """Paths of the notes that it links to."""
    backlinks: tuple[str, ...] = ()
    """Paths of the notes that link to it."""


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """Chunks placed by meaning, as far as two dimensions can show it."""

    shape = Shape(added="shown")
    points: tuple[MapPoint, ...]
    total: int
    """Chunks with a vector; the points are an even sample."""
    degraded: Mapping[str, Degradation] | None = None

    @property
    def shown(self) -> int:
        """How many chunks are on the map."""
        return len(self.points)


@dataclass(slots=True)
class Embedded:
    """What one run of embedding did."""

    done: int = 0
    """Texts embedded by the provider."""
    reused: int = 0
    """Texts whose vector was in the cache."""
    tokens: int = 0
    """Estimated tokens of what was embedded."""
    degradation: Degradation | None = None
    """Why texts were left without a vector."""
    refused: tuple[str, ...] = ()
    """Digests of texts that the provider does not accept."""
    unread: tuple[str, ...] = ()
    """Digests of texts that the model does not read."""
    is_complete: bool = False
    """Every text was sent and answered, even if the answer was a refusal of that text."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Why:
    """What a search makes of one note."""

    path: str
    shown: int | None
    """Its 1-based place among the hits that are shown; None if it is not shown."""
    place: int | None
    """The place of its best passage among all candidates; None if it is none of them."""
    candidates: int
    hit: Hit | None
    """The best passage, with its trace."""
    reason: str
    """Why it is not shown; empty if it is."""
