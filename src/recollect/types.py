"""The records that travel between stages: frozen, typed, without files, SQL, models or settings."""

from __future__ import annotations

import hashlib
from dataclasses import MISSING, field, fields, replace
from enum import StrEnum
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    NewType,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from recollect.records import dataclass
from recollect.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from typing import Self

    import numpy as np
    import numpy.typing as npt

    Vector: TypeAlias = npt.NDArray[np.float32]
    """One unit-length float32 vector."""
    Vectors: TypeAlias = npt.NDArray[np.float32]
    """A matrix of unit-length float32 vectors, one per row."""

T = TypeVar("T")
ChunkKey = NewType("ChunkKey", int)
"""A store's handle of a chunk, valid in that store until the chunk's document changes."""

HEADING_SEPARATOR = " > "
CURATED = ("MEMORY.md", "USER.md")
"""Files of separate, undated entries, in the order in which they are indexed."""
SUPERSEDED = 0
"""The importance of a note that another one replaces: below that of any entry."""
MAX_QUERY_CHARS = 4_000
"""A longer question is a document. So many characters fit into an address in any script."""
MAX_RESULTS = 1000
MAX_TAGS = 20
"""Tags of one question: each is looked for in every chunk that has its words."""
SOURCES = ("memory", "sessions", "agents", "facts", "all")
FUSIONS = ("calibrated", "weighted", "rrf")
_NATIVE = "native"
_READ_FIELDS = 5  # of front matter


@dataclass(frozen=True, slots=True)
class Step:
    """A step of long work, for a progress display."""

    stage: str
    """`fetch`, `read`, `embed` or `ask`."""
    done: int
    total: int
    tokens: int = 0
    """Estimated tokens embedded so far."""


if TYPE_CHECKING:
    Progress: TypeAlias = Callable[[Step], None]


class _Silent:
    """Ignores what it is called with; a function would show its address in every help text."""

    def __call__(self, told: object, /) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "silent"


silent = _Silent()
"""Ignores progress."""


class Role(StrEnum):
    """What a text is embedded for: models treat questions and documents differently."""

    QUERY = "query"
    DOCUMENT = "document"


class SourceKind(StrEnum):
    """The kind of Source that a text came from."""

    MEMORY = "memory"
    SESSIONS = "sessions"
    AGENTS = "agents"
    """What agents keep as their own memory."""
    FACTS = "facts"

    __hash__ = str.__hash__  # that of an enum is a function in Python: too slow for every file


class Modality(StrEnum):
    """What a media file contains."""

    IMAGE = "image"
    AUDIO = "audio"


class Leg(StrEnum):
    """One retrieval path."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    DATE = "date"
    """Proposes and favours notes of the days that a question names."""


class Mode(StrEnum):
    """The legs that answered a query."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


def digest_of(content: bytes) -> str:
    """Return the content digest: equal bytes, equal digest."""
    return hashlib.sha256(content).hexdigest()


def media_digest(label: str, content_digest: str) -> str:
    """Return the digest of a media file and its label: with a NUL, so that no text shares it."""
    return digest_of(f"{content_digest}\0{label}".encode("utf-8", "surrogatepass"))


# Of these two there is one for every file at every sync: a tuple is made in a fraction of the time.
class _Stat(NamedTuple):
    size_bytes: int
    mtime_ns: int
    """Kept within 64 bits, the years 1677 to 2262: that is what a store holds, and some file
    systems go further."""


class Stat(_Stat):
    """The part of a file's stat that shows whether it changed."""

    __slots__ = ()

    def __new__(cls, size_bytes: int, mtime_ns: int) -> Self:
        """Move a time that no store can hold to the nearest one that it can."""
        if not -_TIME_LIMIT_NS <= mtime_ns < _TIME_LIMIT_NS:
            mtime_ns = -_TIME_LIMIT_NS if mtime_ns < 0 else _TIME_LIMIT_NS - 1
        return tuple.__new__(cls, (size_bytes, mtime_ns))


_TIME_LIMIT_NS = 2**63


class Known(NamedTuple):
    """What a store knows of a document: enough to plan a sync without reading the file."""

    path: str
    source: SourceKind
    digest: str
    stat: Stat
    recipe: str
    """Identity of the chunking and term rules the document was stored with."""
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Document:
    """One text read from a Source, or a media file with a label as its text."""

    path: str
    """Relative to the workspace, with forward slashes."""
    source: SourceKind
    text: str
    digest: str
    stat: Stat
    when: date | None
    """The date the text is about; None means evergreen."""
    body_line: int = 1
    """First line (1-based) after the front matter."""
    is_settled: bool = True
    """False if the file was so fresh that a later write could leave the same stat."""
    is_media: bool = False
    """True for an image or a recording: the text is its label, the digest that of its bytes."""
    is_private: bool = False
    """True if its front matter says so: then the text is empty."""


GLOBAL = "global"
"""The scope of facts that everyone may see."""


@dataclass(frozen=True, slots=True)
class FactMark:
    """What a store knows of a fact, or a note that expires: who may see it, and when it holds."""

    shape = Shape({"since": "validFrom", "until": "validUntil"}, null="superseded_by")
    id: str
    scope: str = GLOBAL
    since: datetime | None = None
    """When it starts to hold, in UTC; None: it always did."""
    until: datetime | None = None
    """When it stops holding; None: it still holds."""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class SupersededFact:
    """A fact that no longer holds, and what replaced it."""

    id: str
    text: str
    about: str
    """Its entity and key, if it has them."""
    by: str
    """Id of the fact that replaced it, which may not exist."""
    instead: str
    """What that fact says; empty if it is unknown."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A line span of a Document: the unit of retrieval."""

    path: str
    source: SourceKind
    start_line: int
    end_line: int
    text: str
    heading: tuple[str, ...] = ()
    """Headings above the chunk, outermost first."""
    prefix: str = ""
    """Headings that the text itself does not show; embedded in front of the text."""
    when: date | None = None
    speaker: str = ""
    """Who says it in a transcript: `user`, `assistant`, or both with a comma."""
    moment: str = ""
    """When its first line was said in a transcript: ISO 8601 in UTC."""
    fact: FactMark | None = None
    """Scope and validity of a fact; of a note that expires, its validity, without an id."""
    media: str = ""
    """Digest of the media file's bytes; empty for a text."""
    importance: int | None = None
    """How much its author says an entry matters, 1 to 10; None: nothing was said.

    SUPERSEDED if another note replaces its note.
    """
    triggers: str = ""
    """Words by which its author wants an entry to be found, besides its own.

    Before them, if the chunk begins in a block of code: the fence of that.
    """

    @property
    def fields(self) -> tuple[str, ...]:
        """What the front matter of its note says, each as `key: value`."""
        return tuple(self.triggers.split("\n")[1:])

    @property
    def read_text(self) -> str:
        """What the reader sees: a few fields of the front matter, then what is embedded."""
        return "\n".join((*self.fields[:_READ_FIELDS], self.embedded_text))

    @property
    def embedded_text(self) -> str:
        """What a Provider sees: the headings the text does not show, then the text."""
        return f"{self.prefix}\n{self.text}" if self.prefix else self.text

    @property
    def digest(self) -> str:
        """Digest of what is embedded: the key of its vector."""
        if self.media:
            return media_digest(self.embedded_text, self.media)
        return digest_of(self.embedded_text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a vector space: only vectors of equal fingerprints may be compared."""

    provider: str
    model: str
    dimensions: int | None
    """Dimensions; None: the model's own, which the first vectors fix for the space."""
    prompts: str
    """Identity of the prompt format and the weights: whatever else changes the vectors."""
    endpoint: str = ""
    """Identity of the server, if it is not the vendor's own."""

    def __str__(self) -> str:
        """Return the fingerprint as it is stored and shown."""
        server = f"@{self.endpoint}" if self.endpoint else ""
        return f"{self.provider}/{self.model}/{self.dimensions or _NATIVE}/{self.prompts}{server}"

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Parse a stored fingerprint; a model's name may contain slashes."""
        provider, _, rest = text.partition("/")
        model, dimensions, prompts = rest.rsplit("/", 2)
        prompts, _, endpoint = prompts.partition("@")
        count = None if dimensions == _NATIVE else int(dimensions)
        return cls(provider, model, count, prompts, endpoint)


@dataclass(frozen=True, slots=True)
class Sending:
    """What is about to go to a server for the first time."""

    provider: str
    model: str
    address: str | None
    """Address; None if only the package that offers the provider knows it."""
    texts: int
    """Texts that wait for vectors; 0 for a question or a test alone."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A quoted part of a question: a chunk must contain its words side by side."""

    text: str
    """The phrase as it was asked for, without the quotes."""
    words: tuple[str, ...]
    """Its words in the form in which a text's words are compared."""
    terms: tuple[str, ...]
    """Terms that every text with this phrase has: a cheap first test."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that a note must have, or its type as `type:person`."""

    name: str
    """Name without `#`, in the form in which tags are compared."""
    terms: tuple[str, ...]
    """Terms that every text with this tag has: a cheap first test."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which chunks a query may see; by default all but the facts of other scopes."""

    source: SourceKind | None = None
    since: date | None = None
    """First day included; an undated chunk is outside any date range."""
    before: date | None = None
    """First day excluded."""
    path: str | None = None
    """Glob over document paths; `**` crosses folders."""
    tags: tuple[Tag, ...] = ()
    """Required tags: of notes as a whole, of entries, facts and transcripts each."""
    audience: frozenset[str] = frozenset({GLOBAL})
    """Scopes of the facts that may be seen."""
    as_of: datetime | None = None
    """Moment at which facts must hold; None: they must have no end."""
    with_superseded: bool = False
    """Whether facts that do not hold are included."""
    phrases: tuple[Phrase, ...] = ()
    """Required phrases, each in the text, headings or path of a chunk."""

    @property
    def is_open(self) -> bool:
        """True if it can exclude nothing but facts."""
        limits = (self.source, self.since, self.before, self.path)
        return limits == (None, None, None, None) and not self.phrases and not self.tags

    def shows(self, fact: FactMark) -> bool:
        """Return whether a fact may be seen."""
        if fact.scope not in self.audience:
            return False
        if self.with_superseded:
            return True
        if self.as_of is None:
            return fact.until is None
        has_started = fact.since is None or fact.since <= self.as_of
        return has_started and (fact.until is None or fact.until > self.as_of)


ArgumentType: TypeAlias = Literal["string", "integer", "number", "boolean", "array", "day"]
"""A JSON type, or a day, which is a string in JSON."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that models and people give outside Python."""

    name: str
    type: ArgumentType
    description: str = ""
    """What models read. They pay for each word in every turn."""
    aliases: str = ""
    """Other names that models use, separated by spaces; case, dashes and plurals do not matter."""
    choices: tuple[str, ...] = ()
    is_required: bool = False
    is_listed: bool = True
    """Whether models are told of it; they may give it anyway."""
    about: str = ""
    """What people read."""
    shells: str = "cli http mcp"
    """Where it can be given."""
    default: object = None


def _asked(default: T, kind: ArgumentType, about: str, description: str = "", **more: Any) -> T:  # noqa: ANN401
    """Return a field that is an Argument as well; typed as its value, as `field` itself is."""
    argument = Argument("", kind, description, about=about, default=default, **more)
    return field(default=default, metadata={"argument": argument})


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question, and what narrows it; what is None is left to the settings.

    Every way to ask takes its arguments from these fields: `Memory.search`, the command line, HTTP,
    MCP and the retrievers.
    """

    query: str = _asked(
        cast("str", MISSING),
        "string",
        'The question; a "quoted phrase" is required if it occurs.',
        "The question as you would ask a colleague, with names and ids as written; not a list of "
        'keywords. A "quoted phrase" is required if it occurs.',
        aliases="q search text question prompt searchQuery queryText input",
        is_required=True,
        shells="http mcp",
    )
    max_results: int | None = _asked(
        None,
        "integer",
        "The most hits to return; 6 unless a setting says otherwise.",
        "Default 6",
        aliases="limit k topK pageSize perPage n count numResults",
    )
    tail: bool = _asked(False, "boolean", "Also hits far below the best.", shells="cli http")
    min_score: float | None = _asked(
        None,
        "number",
        "Leave out hits with a lower score, from 0 to 1.",
        "0 to 1",
        aliases="threshold minSimilarity similarityThreshold scoreThreshold",
    )
    source: SourceKind | str | None = _asked(
        "all", "string", "Only this source.", aliases="corpus", choices=SOURCES
    )
    since: date | str | None = _asked(
        None,
        "day",
        "Only notes dated on or after this day: 2026-02-01, 7d, 'last week'.",
        "First day: 2026-02-01, yesterday, 7d",
        aliases="after afterDate fromDate startDate dateFrom sinceDate",
    )
    before: date | str | None = _asked(
        None,
        "day",
        "Only notes dated before this day.",
        "Only days before this one",
        aliases="until beforeDate untilDate toDate endDate dateTo",
    )
    path: str | None = _asked(
        None,
        "string",
        "Only a folder, or files that match this glob: 'memory/2026-*'.",
        "Glob",
        aliases="file glob pathGlob folder",
    )
    tags: Sequence[str] | str = _asked(
        (), "array", "Only notes with this tag; may be repeated.", aliases="labels hashtags"
    )
    type: str | None = _asked(
        None,
        "string",
        "Only notes of this type: `type: person` in their front matter.",
        aliases="kind noteType",
        is_listed=False,
    )
    scopes: Sequence[str] = _asked(
        (), "array", "Also facts of this scope: user:ada.", aliases="audience", is_listed=False
    )
    as_of: date | str | None = _asked(
        None,
        "day",
        "Facts and notes that were valid on this day.",
        aliases="asOfDate at",
        is_listed=False,
    )
    include_superseded: bool = _asked(
        False,
        "boolean",
        "Also replaced facts and expired notes.",
        aliases="superseded",
        is_listed=False,
    )
    links: bool = _asked(
        False,
        "boolean",
        "Name the notes that each hit links to, and that link to it.",
        is_listed=False,
    )
    compact: bool = _asked(
        False,
        "boolean",
        "Of each hit only title, place and one sentence.",
        "Only title, place, one sentence each",
        aliases="short brief",
    )
    explain: bool = _asked(False, "boolean", "Show how each score was computed.", shells="cli http")
    fusion: str | None = _asked(
        None, "string", "How the two legs are combined.", choices=FUSIONS, shells="cli http"
    )
    vector_weight: float | None = None
    """The vector leg's weight in the fusions `weighted` and `rrf`."""
    legs: Sequence[Leg | str] = tuple(Leg)
    """The retrieval paths that may answer."""
    rerank: bool | None = _asked(None, "boolean", "Let a model rerank the best hits.", shells="cli")
    sync: bool | None = _asked(None, "boolean", "Index changed files first, or not.", shells="cli")
    today: date | None = None
    """The day that "yesterday" in the question counts from; None is the clock's day."""
    phrases: bool = True
    """Whether the text in double quotes is required; a prompt may quote without meaning that."""


def search_arguments(shell: str) -> list[Argument]:
    """Return the arguments of a search that a shell offers, named like their fields."""
    declared = [(each.name, each.metadata.get("argument")) for each in fields(SearchRequest)]
    return [replace(how, name=name) for name, how in declared if how and shell in how.shells]


@dataclass(frozen=True, slots=True)
class Query:
    """A validated question."""

    text: str
    max_results: int
    scope: Scope = field(default_factory=Scope)
    legs: frozenset[Leg] = frozenset(Leg)
    """The retrieval paths that may answer."""
    tail: bool = False
    """Whether hits far below the best are wanted, too."""
    imagined: str | None = None
    """A made-up answer, embedded for the vector leg instead of the question."""
    rewordings: tuple[str, ...] = ()
    """The question in other words, embedded for the vector leg besides it."""


@dataclass(frozen=True, slots=True)
class Background:
    """The distribution of cosines of unrelated texts in one vector space."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Degradation:
    """Why something did not run, and what to do about it."""

    reason: str
    action: str


@dataclass(frozen=True, slots=True)
class LegTrace:
    """One leg's share in a score."""

    shape = Shape(digits=None)
    rank: int | None
    raw: float
    normalised: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Trace:
    """Why this score: the contributions of all stages add up to it."""

    shape = Shape(digits=None)
    legs: Mapping[Leg, LegTrace]
    source: float = 0.0
    """What the weight of its source took away, and what its importance changed."""
    exact: float = 0.0
    """What an exact match of an identifier or file name added."""
    decay: float = 0.0
    """What decay took away: zero or negative."""
    rerank: float = 0.0
    """What rerank added: zero or positive."""
    age_days: int | None = None
    similarity: float | None = None
    """Similarity to the hits above it, if diversity is on."""
    place: int = 0
    """Final 1-based place."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Lines that say nothing but what a hit says."""

    path: str
    start_line: int
    end_line: int
    citation: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What the user gets for one chunk."""

    shape = Shape(
        {"moment": "time", "trace": "explain"},
        hidden="text sentence",
        optional="speaker moment fact valid_until superseded_by contradicts also_in links "
        "backlinks trace memory",
    )
    path: str
    start_line: int
    end_line: int
    score: float
    vector_score: float | None
    """Cosine; None if the vector leg did not run or the chunk has no vector."""
    text_score: float | None
    """Normalised keyword evidence; None if the keyword leg has nothing for the chunk."""
    snippet: str
    source: SourceKind
    citation: str
    heading: tuple[str, ...]
    date: date | None
    speaker: str | None = None
    """Who says it in a transcript."""
    moment: str | None = None
    """When it was said in a transcript."""
    fact: FactMark | None = None
    """Id, scope and validity of a fact."""
    valid_until: datetime | None = None
    """When a note expires, or did."""
    superseded_by: str | None = None
    """Successor of the fact that a note or transcript repeats."""
    contradicts: tuple[str, ...] = ()
    """Facts that contradict a fact, each as its id and its text."""
    also_in: tuple[Repeat, ...] = ()
    """Other notes or transcripts that only repeat this hit, best first."""
    links: tuple[str, ...] = ()
    """Notes that its note links to, if they were asked for."""
    backlinks: tuple[str, ...] = ()
    """Notes that link to its note."""
    trace: Trace | None = None
    text: str = ""
    """The whole chunk, of which the snippet is a part."""
    memory: str = ""
    """The memory that it comes from, if that is searched with the one that was asked."""
    sentence: str = ""
    """The sentence of it that has most of the question; empty if none has any."""

    @property
    def title(self) -> str:
        """The heading path without what is the name of the file."""
        name = self.path.rpartition("/")[2].rpartition(".")[0].replace("-", " ").casefold()
        said = (each for each in self.heading if each.replace("-", " ").casefold() != name)
        return HEADING_SEPARATOR.join(said)

    def __repr__(self) -> str:
        """Return one short line: its other fields are for programs."""
        return f"<Hit {self.score:.3f} {self.citation}: {' '.join(self.snippet.split())[:60]!r}>"


@dataclass(frozen=True, slots=True)
class Results:
    """Hits, and how each leg fared."""

    shape = Shape({"hits": "results"}, hidden="searched terms why_empty is_compact")
    hits: tuple[Hit, ...]
    query: str
    mode: Mode
    provider: str | None
    model: str | None
    fusion: str
    confident: bool
    """False if nothing found stands out from noise."""
    took_ms: float = 0.0
    confidence: float = 0.0
    """The probability that memory holds an answer, from 0 to 1; 0 or 1 with other fusions."""
    degraded: Mapping[str, Degradation] | None = None
    """Why a leg, `rerank`, `hyde` or `expand` did not run or is incomplete."""
    notices: tuple[str, ...] = ()
    """What else the user should know, such as an index that had to be rebuilt."""
    searched: int = 0
    """How many chunks the memory holds that the question may see, whatever the filters say."""
    terms: frozenset[str] = frozenset()
    """Terms of the question, in the spelling that was searched."""
    why_empty: tuple[str, ...] = ()
    """The notices that say why nothing was found."""
    is_compact: bool = False
    """Whether of each hit only its title, its place and a sentence are shown."""

    def __iter__(self) -> Iterator[Hit]:
        """Return the hits, best first."""
        return iter(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        """Return a hit by its place, from 0 on, or several."""
        return self.hits[place]

    def __len__(self) -> int:
        """Return how many hits there are."""
        return len(self.hits)

    def __repr__(self) -> str:
        """Return one short line."""
        return f"<Results of {self.query!r}: {len(self.hits)} hits, {self.mode.value}>"
