"""The records that travel between stages: frozen, typed, free of behaviour beyond their own shape.

They know nothing of files, SQL, models or settings.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NewType, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date, datetime

    import numpy as np
    import numpy.typing as npt

    Vector: TypeAlias = npt.NDArray[np.float32]
    """One unit-length float32 vector."""
    Vectors: TypeAlias = npt.NDArray[np.float32]
    """A matrix of unit-length float32 vectors, one a row."""

ChunkKey = NewType("ChunkKey", int)
"""A store's own handle of a chunk, valid in that store until the chunk's document changes."""

HEADING_SEPARATOR = " > "
_NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Step:
    """How far a long piece of work has come."""

    stage: str
    """What is being done: `fetch`, `read` or `embed`."""
    done: int
    total: int
    tokens: int = 0
    """Estimated tokens embedded so far."""
    cost: float | None = None
    """Estimated price of those, in US dollars; None where nothing is paid or no price is known."""


if TYPE_CHECKING:
    Progress: TypeAlias = Callable[[Step], None]


def silent(step: Step) -> None:
    """Take note of nothing: the progress of a caller who does not watch."""


class Role(StrEnum):
    """What a text is embedded for: models treat questions and passages differently."""

    QUERY = "query"
    DOCUMENT = "document"


class SourceKind(StrEnum):
    """Which kind of Source a text came from."""

    MEMORY = "memory"
    SESSIONS = "sessions"
    FACTS = "facts"


class Modality(StrEnum):
    """What a media file is to be perceived as."""

    IMAGE = "image"
    AUDIO = "audio"


class Leg(StrEnum):
    """One retrieval path."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    DATE = "date"
    """Days named in the question: it proposes and favours notes of those days."""


class Mode(StrEnum):
    """Which legs answered a query."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


def digest_of(content: bytes) -> str:
    """Return the content digest: equal bytes, equal digest."""
    return hashlib.sha256(content).hexdigest()


def media_digest(label: str, content_digest: str) -> str:
    """Return the digest of a media file and its label, which are embedded as one.

    No text holds a NUL, so no text has the digest of a file.
    """
    return digest_of(f"{content_digest}\0{label}".encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Stat:
    """What one `stat` call tells of a file, enough to see that it did not change."""

    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Document:
    """One text read from a Source, or a media file with a label for its text."""

    path: str
    """Relative to the workspace, with forward slashes."""
    source: SourceKind
    text: str
    digest: str
    stat: Stat
    when: date | None
    """The date the text speaks of; None means evergreen."""
    body_line: int = 1
    """First line (1-based) after the front matter."""
    is_settled: bool = True
    """False when the file was so fresh that a later write could leave the same stat."""
    is_media: bool = False
    """True for an image or a recording: the text is its label, the digest that of its bytes."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a store remembers of a document: enough to plan a sync without reading the file."""

    path: str
    source: SourceKind
    digest: str
    stat: Stat
    recipe: str
    """Identity of the chunking and term rules the document was stored with."""
    is_settled: bool


GLOBAL = "global"
"""The scope of what everyone may see."""


@dataclass(frozen=True, slots=True)
class FactMark:
    """What a store has to know of a fact: who may see it, and when it holds."""

    id: str
    scope: str = GLOBAL
    since: datetime | None = None
    """From when on it holds, in UTC; None: always did."""
    until: datetime | None = None
    """From when on it holds no longer; None: it still does."""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class SupersededFact:
    """A fact that no longer holds, and what took its place."""

    id: str
    text: str
    about: str
    """What it is about: entity and key, where it says so."""
    by: str
    """Id of what took its place, which need not exist."""
    instead: str
    """What that says; empty where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A line span of a Document: the unit of retrieval."""

    path: str
    source: SourceKind
    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...] = ()
    """Headings the chunk stands under, outermost first."""
    prefix: str = ""
    """Heading path that the text itself does not show; embedded in front of the text."""
    when: date | None = None
    speaker: str = ""
    """Who says it, in a transcript: `user`, `assistant`, or both with a comma."""
    moment: str = ""
    """When the first of it was said, in a transcript: ISO 8601 in UTC."""
    fact: FactMark | None = None
    """Of a fact: what decides who may see it."""
    media: str = ""
    """Digest of the bytes of the media file it stands for; empty for a text."""

    @property
    def embedded_text(self) -> str:
        """What a Provider sees: the context the text does not carry itself, then the text."""
        return f"{self.prefix}\n{self.text}" if self.prefix else self.text

    @property
    def digest(self) -> str:
        """Digest of what is embedded: the key under which its vector is kept."""
        if self.media:
            return media_digest(self.embedded_text, self.media)
        return digest_of(self.embedded_text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a vector space: only vectors of equal fingerprints may be compared."""

    provider: str
    model: str
    dimensions: int | None
    """None: as many as the model gives; a store holds the space to its first vectors."""
    prompts: str
    """Identity of the prompt format and of the weights: anything else that moves the vectors."""
    endpoint: str = ""
    """Identity of the server, where it is not the vendor's own."""

    def __str__(self) -> str:
        """Return the form in which a fingerprint is stored and shown."""
        server = f"@{self.endpoint}" if self.endpoint else ""
        return f"{self.provider}/{self.model}/{self.dimensions or _NATIVE}/{self.prompts}{server}"

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Return the fingerprint of its stored form; a model's name may hold slashes."""
        provider, _, rest = text.partition("/")
        model, dimensions, prompts = rest.rsplit("/", 2)
        prompts, _, endpoint = prompts.partition("@")
        count = None if dimensions == _NATIVE else int(dimensions)
        return cls(provider, model, count, prompts, endpoint)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which chunks a query may see. The default sees everything."""

    source: SourceKind | None = None
    since: date | None = None
    """First day included; undated chunks are outside any date range."""
    before: date | None = None
    """First day excluded."""
    path: str | None = None
    """Glob over document paths; `**` crosses folders."""
    audience: frozenset[str] = frozenset({GLOBAL})
    """Facts of these scopes, and of no other."""
    as_of: datetime | None = None
    """Facts that held at this moment; None: those that have no end."""
    with_superseded: bool = False
    """Facts whenever they held."""

    @property
    def is_open(self) -> bool:
        """True when nothing but facts may be excluded."""
        return (self.source, self.since, self.before, self.path) == (None, None, None, None)

    def shows(self, fact: FactMark) -> bool:
        """Tell whether a fact may be seen and holds."""
        if fact.scope not in self.audience:
            return False
        if self.with_superseded:
            return True
        if self.as_of is None:
            return fact.until is None
        begins = fact.since is None or fact.since <= self.as_of
        return begins and (fact.until is None or fact.until > self.as_of)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question as a caller asks it; what is None is left to the settings."""

    text: str
    max_results: int | None = None
    min_score: float | None = None
    source: SourceKind | str | None = None
    since: date | None = None
    before: date | None = None
    path: str | None = None
    scopes: tuple[str, ...] = ()
    as_of: datetime | None = None
    include_superseded: bool = False
    fusion: str | None = None
    vector_weight: float | None = None
    legs: tuple[Leg | str, ...] = tuple(Leg)
    rerank: bool | None = None
    today: date | None = None
    explain: bool = False
    sync: bool | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A validated question."""

    text: str
    max_results: int
    scope: Scope = field(default_factory=Scope)
    legs: frozenset[Leg] = frozenset(Leg)
    """Which retrieval paths may answer."""
    imagined: str | None = None
    """What an answer might say: embedded for the vector leg in the question's place."""
    rewordings: tuple[str, ...] = ()
    """The question in other words: embedded for the vector leg beside it."""


@dataclass(frozen=True, slots=True)
class Background:
    """How cosines of unrelated texts are distributed in one vector space."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Degradation:
    """Why something did not run, and the one thing to do about it."""

    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class LegTrace:
    """One leg's part in a score."""

    rank: int | None
    raw: float
    normalised: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Trace:
    """Why this score: the contributions of all parts add up to it."""

    legs: Mapping[Leg, LegTrace]
    source: float = 0.0
    """What the weight of its source took away: zero or negative."""
    exact: float = 0.0
    """Lift given to the chunk that holds the very identifier or file asked for."""
    decay: float = 0.0
    """What age took away: zero or negative."""
    rerank: float = 0.0
    """What a model's second look added: zero or positive."""
    age_days: int | None = None
    similarity: float | None = None
    """To the hits above it, when diversity is on."""
    place: int = 0
    """Final 1-based place."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What the user gets for one chunk."""

    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    """Cosine; None when the vector leg did not run or has no vector for the chunk."""
    text_score: float | None
    """Normalised keyword evidence; None when the keyword leg has nothing for the chunk."""
    snippet: str
    source: SourceKind
    citation: str
    heading: tuple[str, ...]
    date: date | None
    speaker: str | None = None
    """Who says it, in a transcript."""
    moment: str | None = None
    """When it was said, in a transcript."""
    fact: FactMark | None = None
    """Of a fact: its id, its scope, and when it holds."""
    superseded_by: str | None = None
    """Of a note or transcript that repeats a fact: the fact that took that one's place."""
    trace: Trace | None = None
    text: str = ""
    """The whole chunk that scored, of which the snippet is what is worth showing."""


@dataclass(frozen=True, slots=True)
class Results:
    """Hits, and how each leg fared."""

    hits: tuple[Hit, ...]
    query: str
    mode: Mode
    provider: str | None
    model: str | None
    fusion: str
    confident: bool
    """False when nothing found stands out from noise."""
    took_ms: float
    degraded: Mapping[str, Degradation] | None = None
    """Per leg, or `rerank`, that did not run or is incomplete: why."""
    notices: tuple[str, ...] = ()
    """What else the caller should know, such as an index that had to be rebuilt."""
