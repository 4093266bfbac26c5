"""How long a fact is kept: decay classes, the class of a text, expiry, and what to prune.

A class gives a lifetime; a fact carries the moment at which it expires. The words that decide the
class are those of openclaw-hybrid-memory, in its order: the first match counts. Fewer words limit
what was stated on purpose: a rule that is valid for years may mention a sprint. That memory halves
a confidence each time it prunes, so a fact's fate depends on how often somebody looks; here fading
is computed from age alone and nothing is stored.
"""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from recollect.facts.record import Fact

FADING_SHARE = 0.75
"""Share of its lifetime after which a fact is trusted less."""
FADED_FACTOR = 0.5
"""Factor on its confidence from then on."""
LEAST_CONFIDENCE = 0.1
"""A fact with less confidence is an unconfirmed guess."""


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

_PERMANENT_KEYS = (
    "name", "email", "api_key", "api_endpoint", "architecture", "decision", "birthday", "born",
    "phone", "language", "location",
)  # fmt: skip
_PERMANENT_ENTITIES = frozenset({"decision", "convention"})
_PERMANENT_WORDS = re.compile(r"\b(?:decided|architecture|always use|never use)\b")
_SESSION_KEYS = (
    "current_file", "temp", "debug", "working_on_right_now", "checkpoint", "preflight",
)  # fmt: skip
_SESSION_WORDS = re.compile(r"\b(?:currently debugging|right now|this session)\b")
_ACTIVE_KEYS = ("task", "todo", "wip", "branch", "sprint", "blocker")
_ACTIVE_WORDS = re.compile(r"\b(?:working on|need to|todo|blocker|sprint)\b")

LASTING_CATEGORIES = frozenset(
    {"preference", "decision", "entity", "pattern", "rule", "edict", "person", "place"}
)
"""Explicit facts of these categories never expire, whatever their words."""
_PASSING_WORDS = (
    (
        DecayClass.SESSION,
        re.compile(r"\b(?:currently debugging|right now(?! and then)|this session)\b"),
    ),
    (
        DecayClass.ACTIVE,
        re.compile(
            r"\b(?:(?:this|the current) (?:sprint|iteration|week)|for the sprint"
            r"|(?:am|is|are|currently|['’](?:m|s|re)) working on)\b"
            r"|\Atodo\b|\bneed to\b.{1,80}\b(?:today|tonight|tomorrow)\b"
        ),
    ),
)
_PASSING_KEYS = (
    (DecayClass.SESSION, _SESSION_KEYS),
    (DecayClass.ACTIVE, _ACTIVE_KEYS),
)


@dataclass(frozen=True, slots=True)
class Ending:
    """When a fact expires, and why."""

    decay: DecayClass = DecayClass.PERMANENT
    expires: datetime | None = None
    because: str = ""
    """The words or the key that limit an explicit fact."""


def ending_of_explicit(text: str, *, key: str, category: str, since: datetime) -> Ending:
    """Return when an explicit fact expires: never, unless its words say that it is temporary."""
    if category in LASTING_CATEGORIES or classify_decay(text, key=key) is DecayClass.PERMANENT:
        return Ending()
    words, named = " ".join(text.lower().split()), key.strip().lower().removeprefix("current_")
    for decay, wording in _PASSING_WORDS:
        if found := wording.search(words):
            return Ending(decay, expiry(decay, since=since), f"it says {found[0]!r}")
    for decay, keys in _PASSING_KEYS:
        if named in {each.removeprefix("current_") for each in keys}:
            return Ending(decay, expiry(decay, since=since), f"its key is {key!r}")
    return Ending()


def classify_decay(text: str, *, entity: str = "", key: str = "") -> DecayClass:
    """Return the class that the words of a fact suggest."""
    words, named = text.lower(), key.lower()

    def has(keys: tuple[str, ...]) -> bool:
        return any(part in named for part in keys)

    if has(_PERMANENT_KEYS) or _PERMANENT_WORDS.search(words):
        return DecayClass.PERMANENT
    if entity.lower() in _PERMANENT_ENTITIES:
        return DecayClass.PERMANENT
    if has(_SESSION_KEYS) or _SESSION_WORDS.search(words):
        return DecayClass.SESSION
    if has(_ACTIVE_KEYS) or _ACTIVE_WORDS.search(words):
        return DecayClass.ACTIVE
    return DecayClass.STABLE


def expiry(decay: DecayClass, *, since: datetime) -> datetime | None:
    """Return when a fact of this class expires; None is never."""
    lifetime = LIFETIMES[decay]
    return None if lifetime is None else since + lifetime


def is_expired(fact: Fact, *, now: datetime) -> bool:
    """Return whether a fact has expired."""
    return fact.expires is not None and fact.expires <= now


def faded_confidence(fact: Fact, *, now: datetime) -> float:
    """Return the confidence in a fact, reduced near the end of its lifetime."""
    lifetime = LIFETIMES[fact.decay]
    if lifetime is None or fact.expires is None:
        return fact.confidence
    is_fading = fact.expires - now < lifetime * (1 - FADING_SHARE)
    return fact.confidence * FADED_FACTOR if is_fading else fact.confidence


class PruneReason(StrEnum):
    """Why a fact is pruned."""

    EXPIRED = "expired"
    FADED = "faded"
    """Low confidence, and old for its class."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A fact to prune, and why."""

    shape = Shape(merged="fact")
    fact: Fact
    reason: PruneReason


def prune_plan(facts: Iterable[Fact], *, now: datetime) -> tuple[Pruned, ...]:
    """Return what pruning removes now.

    A fact without an expiry stays, whatever its class; so does every bullet a person wrote.
    """
    found = ((fact, _reason(fact, now=now)) for fact in facts)
    return tuple(Pruned(fact, reason) for fact, reason in found if reason is not None)


def _reason(fact: Fact, *, now: datetime) -> PruneReason | None:
    if is_expired(fact, now=now):
        return PruneReason.EXPIRED
    if fact.expires is not None and faded_confidence(fact, now=now) < LEAST_CONFIDENCE:
        return PruneReason.FADED
    return None
