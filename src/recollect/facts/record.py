"""A fact: one short statement, with what it is about, for whom it holds, since when, on whose word.

It knows nothing of files. Whatever it is made from, a Fact that exists is a valid one.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import UsageError
from recollect.facts.decay import DecayClass
from recollect.facts.identity import is_id
from recollect.facts.scope import GLOBAL, FactScope

if TYPE_CHECKING:
    from collections.abc import Iterable

CATEGORIES = (
    "preference", "fact", "decision", "entity", "pattern", "rule", "edict",
    "technical", "person", "project", "place", "other",
)  # fmt: skip
"""Those of openclaw-hybrid-memory, and those its prompt for extraction asks for."""
DEFAULT_CATEGORY = "other"
EXTRACTED_CATEGORY = "technical"
"""What a model's unknown category becomes: what is extracted is mostly that."""
NO_SUCCESSOR = "none"
"""In place of the id of a successor: the fact was withdrawn and nothing took its place."""

Kind = TypeVar("Kind", bound=StrEnum)

_CATEGORY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_TAG = re.compile(r"[^\s,]+")


class Provenance(StrEnum):
    """On whose word a fact is held to be true."""

    OWNER = "owner"
    """The person: by a command, or by writing into the ledger."""
    AGENT = "agent"
    """An agent, by an explicit call."""
    TRANSCRIPT = "transcript"
    """Extracted from a conversation."""
    INGEST = "ingest"
    """Extracted from a file."""


EXPLICIT = frozenset({Provenance.OWNER, Provenance.AGENT})
"""Said on purpose, not extracted by a model."""
MOST_FACT_CHARS = 4_000
"""Of what somebody says: what is longer is a note."""
CONFIDENCES = {
    Provenance.OWNER: 1.0,
    Provenance.AGENT: 0.9,
    Provenance.INGEST: 0.8,
    Provenance.TRANSCRIPT: 0.7,
}
"""How sure a fact is that does not say so itself. An agent may have been talked into it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement. Moments are in UTC; None is unknown or unlimited."""

    id: str
    text: str
    category: str = DEFAULT_CATEGORY
    entity: str = ""
    """Whom or what it is about."""
    key: str = ""
    """Which property of the entity."""
    value: str = ""
    tags: tuple[str, ...] = ()
    scope: FactScope = GLOBAL
    decay: DecayClass = DecayClass.PERMANENT
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    """First moment at which it no longer holds."""
    expires: datetime | None = None
    """First moment at which it may be pruned."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    """An id, or `NO_SUCCESSOR`."""
    provenance: Provenance = Provenance.OWNER
    source: str = ""
    """Where it was said: a citation such as `memory/2026-02-01.md:10-24`."""
    created: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be stored or would mean nothing."""
        for is_wrong, what, action in (
            (not is_id(self.id), f"has the id {self.id!r}", "Leave the id to Recollect."),
            (not self.text.strip(), "has no text", "Say what is to be remembered."),
            (not _CATEGORY.fullmatch(self.category), f"has the category {self.category!r}",
             f"Choose one of {', '.join(CATEGORIES)}."),
            (not 0 <= self.confidence <= 1, f"has the confidence {self.confidence}",
             "Give a number from 0 to 1."),
            (not _are_tags(self.tags), f"has the tags {self.tags!r}",
             "Use lower-case words without spaces or commas, each once."),
            (not all(map(is_id, self.supersedes)) or self.id in self.supersedes,
             f"supersedes {self.supersedes!r}", "Name ids of other facts."),
            (not _is_successor(self), f"is superseded by {self.superseded_by!r}",
             f"Name the id of another fact, or {NO_SUCCESSOR!r}."),
            (not _are_moments(self), "has a moment that is not in UTC, or ends before it begins",
             "Give moments in UTC, the end after the beginning."),
        ):  # fmt: skip
            if is_wrong:
                raise UsageError(f"The fact {what}.", action=action)

    @property
    def begins(self) -> datetime | None:
        """Since when it holds, as far as is known."""
        return self.valid_from or self.created

    @property
    def is_superseded(self) -> bool:
        """True when another took its place, or it was withdrawn."""
        return bool(self.superseded_by)


def category_of(name: str, *, known: Iterable[str] = CATEGORIES) -> str:
    """Return the category a person or agent named.

    Raises:
        UsageError: there is no such category.

    """
    names = tuple(known)
    wanted = name.strip().lower()
    if wanted in names:
        return wanted
    nearest = difflib.get_close_matches(wanted, names, n=1)
    hint = f"Did you mean {nearest[0]}? " if nearest else ""
    raise UsageError(
        f"There is no category {name!r}.", action=f"{hint}Choose one of {', '.join(names)}."
    )


def extracted_category(name: str, *, known: Iterable[str] = CATEGORIES) -> str:
    """Return the category for what a model answered, which need not be one."""
    wanted = name.strip().lower()
    return wanted if wanted in tuple(known) else EXTRACTED_CATEGORY


def named_as(kinds: type[Kind], name: str) -> Kind:
    """Return the one of some kinds that a name names.

    Raises:
        UsageError: there is no such one.

    """
    try:
        return kinds(name)
    except ValueError:
        raise UsageError(
            f"{name!r} is none of {', '.join(kinds)}.", action="Write one of them."
        ) from None


def tags_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return tags as they are stored, of words as they are typed: `UI`, `dark mode`, `a, b`."""
    split = (part for word in words for part in word.split(","))
    return tuple(dict.fromkeys(tag for part in split if (tag := "-".join(part.lower().split()))))


def moment_of(text: str, *, at_end: bool = False) -> datetime:
    """Return the moment a text names, in UTC unless it says otherwise.

    Args:
        text: `2026-02-01` or `2026-02-01T10:00:00Z`.
        at_end: take a bare day for its last moment, not its first: `as of` a day includes it.

    Raises:
        UsageError: it names none.

    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not a date.", action="Write 2026-02-01 or 2026-02-01T10:00:00Z."
        ) from None
    if at_end and _is_day(text):
        moment = datetime.combine(moment, time.max)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{text!r} is out of range.", action="Name a later date.") from None


def moment_text(moment: datetime) -> str:
    """Return the shortest form of a moment that `moment_of` reads back."""
    text = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return text.removesuffix("T00:00:00Z")


def _is_day(text: str) -> bool:
    return "T" not in text and ":" not in text and " " not in text.strip()


def _are_tags(tags: tuple[str, ...]) -> bool:
    are_words = all(_TAG.fullmatch(tag) and tag == tag.lower() for tag in tags)
    return are_words and len(set(tags)) == len(tags)


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
