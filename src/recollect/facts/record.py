"""Fact: one short statement with its subject, its scope, its time span and its provenance.

An id is `f-` and 13 characters of Crockford's base 32, which has no letters that look like digits:
42 bits of milliseconds, so that ids sort by age until the year 2109, then 23 random bits. If two
processes mint the same id, the ledger, which sees both, gives one of them the next.

The words that decide the decay class of an extracted fact are those of openclaw-hybrid-memory, in
its order. A fact that was stated on purpose lasts: a rule for years may mention a sprint.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import UsageError
from recollect.facts.scope import parse_scope
from recollect.records import dataclass
from recollect.shape import Shape
from recollect.text.scripts import normalised
from recollect.types import GLOBAL, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

CATEGORIES = (
    "preference", "fact", "decision", "entity", "pattern", "rule", "edict",
    "technical", "person", "project", "place", "other",
)  # fmt: skip
"""The categories of openclaw-hybrid-memory, and those its extraction prompt asks for."""
DEFAULT_CATEGORY = "other"
EXTRACTED_CATEGORY = "technical"
"""Replaces a model's unknown category: most extracted facts are technical."""
NO_SUCCESSOR = "none"
"""Written as the successor's id of a fact that was withdrawn and not replaced."""

ID_PATTERN = r"f-[0-9a-hjkmnp-tv-z]{13}"
RANDOM_BITS = 23

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGIT_BITS = 5
_ID_DIGITS = 13
_ID_BITS = _DIGIT_BITS * _ID_DIGITS
_ID = re.compile(ID_PATTERN)
_MISREAD = str.maketrans("ilo", "110")
_CATEGORY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG = re.compile(r"[^\s,]+")

Kind = TypeVar("Kind", bound=StrEnum)


class DecayClass(StrEnum):
    """How fast a fact becomes outdated."""

    PERMANENT = "permanent"
    STABLE = "stable"
    ACTIVE = "active"
    SESSION = "session"


LIFETIMES = {
    DecayClass.PERMANENT: None,
    DecayClass.STABLE: timedelta(days=90),
    DecayClass.ACTIVE: timedelta(days=14),
    DecayClass.SESSION: timedelta(days=1),
}
_EXTRACTED_LIFETIMES = (
    (DecayClass.PERMANENT, re.compile(r"\b(?:decided|architecture|always use|never use)\b"), (
        "name", "email", "api_key", "api_endpoint", "architecture", "decision", "birthday", "born",
        "phone", "language", "location",
    )),
    (DecayClass.SESSION, re.compile(r"\b(?:currently debugging|right now|this session)\b"), (
        "current_file", "temp", "debug", "working_on_right_now", "checkpoint", "preflight",
    )),
    (DecayClass.ACTIVE, re.compile(r"\b(?:working on|need to|todo|blocker|sprint)\b"), (
        "task", "todo", "wip", "branch", "sprint", "blocker",
    )),
)  # fmt: skip
"""The first row whose words a text contains, or of which a key contains a part, decides."""


class Provenance(StrEnum):
    """Who stated a fact."""

    OWNER = "owner"
    """The person, by a command or by writing into the ledger."""
    AGENT = "agent"
    """An agent, by an explicit call."""
    INGEST = "ingest"
    """Extracted from a file."""


EXPLICIT = frozenset({Provenance.OWNER, Provenance.AGENT})
"""Stated on purpose, not extracted by a model."""
SAVE_PLACE = "Save where the secret is kept instead."
MOST_FACT_CHARS = 4_000
"""A longer statement is a note, not a fact."""
CONFIDENCES = {Provenance.OWNER: 1.0, Provenance.AGENT: 0.9, Provenance.INGEST: 0.8}
"""Confidence of a new fact. An agent may have been talked into it."""


def moment_text(moment: datetime) -> str:
    """Return the shortest form of a moment that `moment_of` reads back."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z").removesuffix("T00:00:00Z")


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement. Moments are in UTC; None is unknown or unlimited."""

    shape = Shape({"decay": "decayClass"}, null="superseded_by", digits=None, moment=moment_text)
    id: str
    text: str
    category: str = DEFAULT_CATEGORY
    entity: str = ""
    """The person or thing it is about."""
    key: str = ""
    """The property of the entity."""
    value: str = ""
    tags: tuple[str, ...] = ()
    scope: str = GLOBAL
    decay: DecayClass = DecayClass.PERMANENT
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    """First moment at which it is no longer valid."""
    expires: datetime | None = None
    """First moment at which it may be pruned."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    """An id, or `NO_SUCCESSOR`."""
    provenance: Provenance = Provenance.OWNER
    source: str = ""
    """Where it was stated: a citation such as `memory/2026-02-01.md:10-24`."""
    created: datetime | None = None

    def __post_init__(self) -> None:
        """Reject values that cannot be stored or are contradictory."""
        for is_wrong, what, action in (
            (not is_id(self.id), f"has the id {self.id!r}", "Let Recollect choose the id."),
            (not self.text.strip(), "has no text", "Say what to remember."),
            (not _is_unicode(self), "has bytes that are not UTF-8", "Give it as UTF-8 text."),
            (not _CATEGORY.fullmatch(self.category), f"has the category {self.category!r}",
             f"Choose one of {', '.join(CATEGORIES)}."),
            (parse_scope(self.scope) != self.scope, f"has the scope {self.scope!r}",
             "Write its kind in lower case."),
            (not 0 <= self.confidence <= 1, f"has the confidence {self.confidence}",
             "Use a number from 0 to 1."),
            (not _are_tags(self.tags), f"has the tags {self.tags!r}",
             "Use distinct lower-case words without spaces or commas."),
            (not all(map(is_id, self.supersedes)) or self.id in self.supersedes,
             f"supersedes {self.supersedes!r}", "Name ids of other facts."),
            (not _is_successor(self), f"is superseded by {self.superseded_by!r}",
             f"Name the id of another fact, or {NO_SUCCESSOR!r}."),
            (not _are_moments(self), "has a time that is not in UTC, or ends before it begins",
             "Use times in UTC, with the end after the start."),
        ):  # fmt: skip
            if is_wrong:
                raise UsageError(f"The fact {what}.", action=action)

    @property
    def begins(self) -> datetime | None:
        """When it became valid, if known."""
        return self.valid_from or self.created

    def is_expired(self, now: datetime) -> bool:
        """Return whether it has expired."""
        return self.expires is not None and self.expires <= now

    @property
    def is_superseded(self) -> bool:
        """True if another fact replaced it or it was withdrawn."""
        return bool(self.superseded_by)


def mint_id(now: datetime, *, random_bits: int) -> str:
    """Return a new id for this moment; only the lowest `RANDOM_BITS` of chance are used."""
    moment = int(now.timestamp() * 1000) % (1 << (_ID_BITS - RANDOM_BITS))
    return _encoded((moment << RANDOM_BITS) | (random_bits % (1 << RANDOM_BITS)))


def derive_id(text: str, *, ordinal: int = 0) -> str:
    """Return the id of a bullet: that of its words, and of how many equal ones precede it."""
    digest = int(normalised_digest(f"{normalised(text)} #{ordinal}"), 16)
    return _encoded(digest % (1 << _ID_BITS))


def next_id(fact_id: str) -> str:
    """Return the id after this one, for a fact whose id is taken."""
    number = 0
    for digit in fact_id.removeprefix("f-"):
        number = number << _DIGIT_BITS | _DIGITS.index(digit)
    return _encoded((number + 1) % (1 << _ID_BITS))


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id."""
    return _ID.fullmatch(text) is not None


def parse_id(text: str) -> str:
    """Return the id a person typed, tolerating case, look-alikes and a missing `f-`."""
    digits = text.strip().lower().removeprefix("f-").translate(_MISREAD)
    if not is_id(f"f-{digits}"):
        raise UsageError(
            f"{text!r} is not the id of a fact.",
            action="Ids look like f-06e5p3v8m1q0z; `recollect facts list` shows them.",
        )
    return f"f-{digits}"


def normalised_digest(text: str) -> str:
    """Return the digest of the normalised text."""
    return digest_of(normalised(text).encode("utf-8", "surrogatepass"))


def _encoded(number: int) -> str:
    shifts = range(_ID_BITS - _DIGIT_BITS, -1, -_DIGIT_BITS)
    return "f-" + "".join(_DIGITS[number >> shift & 31] for shift in shifts)


def category_of(name: str, *, known: Iterable[str] = CATEGORIES) -> str:
    """Return the category that a person or agent named."""
    names = tuple(known)
    wanted = name.strip().lower()
    if wanted in names:
        return wanted
    import difflib  # noqa: PLC0415 - only for a mistake

    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"There is no category {name!r}.", action=f"{hint}Choose one of {', '.join(names)}."
    )


def extracted_category(name: str) -> str:
    """Return the category that a model named, or the usual one if it is unknown."""
    wanted = name.strip().lower()
    return wanted if wanted in CATEGORIES else EXTRACTED_CATEGORY


def member_of(kinds: type[Kind], name: str) -> Kind:
    """Return the member of an enumeration with this name."""
    try:
        return kinds(name)
    except ValueError:
        raise UsageError(
            f"{name!r} is not one of {', '.join(kinds)}.", action="Use one of them."
        ) from None


def moment_of(text: str) -> datetime:
    """Return the moment a text names, in UTC unless it has an offset: `2026-02-01T10:00:00Z`."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not a date.", action="Write 2026-02-01 or 2026-02-01T10:00:00Z."
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{text!r} is out of range.", action="Name a later date.") from None


def classify_decay(text: str, *, entity: str = "", key: str = "") -> DecayClass:
    """Return the class that the words of an extracted fact suggest."""
    if entity.lower() in {"decision", "convention"}:
        return DecayClass.PERMANENT
    for decay, wording, keys in _EXTRACTED_LIFETIMES:
        if any(part in key.lower() for part in keys) or wording.search(text.lower()):
            return decay
    return DecayClass.STABLE


def expiry(decay: DecayClass, *, since: datetime) -> datetime | None:
    """Return when a fact of this class expires; None is never."""
    lifetime = LIFETIMES[decay]
    return None if lifetime is None else since + lifetime


def _are_tags(tags: tuple[str, ...]) -> bool:
    are_words = all(_TAG.fullmatch(tag) and tag == tag.lower() for tag in tags)
    return are_words and len(set(tags)) == len(tags)


def _is_unicode(fact: Fact) -> bool:
    """Return whether all texts can be written: an argument may hold half of a surrogate pair."""
    texts = (fact.text, fact.entity, fact.key, fact.value, fact.source, *fact.tags)
    return not _SURROGATE.search("".join(texts))


def _is_successor(fact: Fact) -> bool:
    if fact.superseded_by in {"", NO_SUCCESSOR}:
        return True
    return is_id(fact.superseded_by) and fact.superseded_by != fact.id


def _are_moments(fact: Fact) -> bool:
    moments = (fact.valid_from, fact.valid_until, fact.expires, fact.created)
    if any(moment is not None and moment.utcoffset() != timedelta() for moment in moments):
        return False
    if fact.valid_from is None or fact.valid_until is None:
        return True
    return fact.valid_from <= fact.valid_until
