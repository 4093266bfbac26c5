"""How long a fact is kept: classes, the class of a text, expiry, refresh, and what to prune.

A class gives a lifetime, a fact carries the moment at which it ends. The words that decide a class
are those of openclaw-hybrid-memory, in its order: the first that fits counts. What was said on
purpose is limited by fewer: a rule that holds for years may need to speak of a sprint. That memory
halves a
confidence each time it prunes, so that a fact's fate depends on how often one looks; here fading is
worked out from age alone and nothing is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from recollect.facts.record import Fact

FADING_SHARE = 0.75
"""Part of its lifetime after which a fact that nobody asked for is trusted less."""
FADED_FACTOR = 0.5
"""What is left of its confidence then."""
LEAST_CONFIDENCE = 0.1
"""Below it a fact is a guess nobody confirmed."""


class DecayClass(StrEnum):
    """How fast a fact gets old."""

    PERMANENT = "permanent"
    DURABLE = "durable"
    STABLE = "stable"
    NORMAL = "normal"
    ACTIVE = "active"
    SHORT = "short"
    SESSION = "session"
    EPHEMERAL = "ephemeral"
    CHECKPOINT = "checkpoint"


LIFETIMES = {
    DecayClass.PERMANENT: None,
    DecayClass.DURABLE: timedelta(days=90),
    DecayClass.STABLE: timedelta(days=90),
    DecayClass.NORMAL: timedelta(days=14),
    DecayClass.ACTIVE: timedelta(days=14),
    DecayClass.SHORT: timedelta(days=2),
    DecayClass.SESSION: timedelta(hours=24),
    DecayClass.EPHEMERAL: timedelta(hours=4),
    DecayClass.CHECKPOINT: timedelta(hours=4),
}
REFRESHED = frozenset({DecayClass.STABLE, DecayClass.ACTIVE, DecayClass.DURABLE, DecayClass.NORMAL})
"""Classes whose facts live on when they are used; the others are short on purpose."""

_PERMANENT_KEYS = (
    "name", "email", "api_key", "api_endpoint", "architecture", "decision", "birthday", "born",
    "phone", "language", "location",
)  # fmt: skip
_PERMANENT_ENTITIES = frozenset({"decision", "convention"})
_PERMANENT_WORDS = re.compile(r"\b(?:decided|architecture|always use|never use)\b")
_SESSION_KEYS = ("current_file", "temp", "debug", "working_on_right_now")
_SESSION_WORDS = re.compile(r"\b(?:currently debugging|right now|this session)\b")
_ACTIVE_KEYS = ("task", "todo", "wip", "branch", "sprint", "blocker")
_ACTIVE_WORDS = re.compile(r"\b(?:working on|need to|todo|blocker|sprint)\b")
_CHECKPOINT_KEYS = ("checkpoint", "preflight")

LASTING_CATEGORIES = frozenset(
    {"preference", "decision", "entity", "pattern", "rule", "edict", "person", "place"}
)
"""What is said on purpose to be one of these is kept, whatever its words."""
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
    (DecayClass.CHECKPOINT, _CHECKPOINT_KEYS),
)


@dataclass(frozen=True, slots=True)
class Ending:
    """When a fact ends, and why."""

    decay: DecayClass = DecayClass.PERMANENT
    expires: datetime | None = None
    because: str = ""
    """What of it limits a fact that was said on purpose: its words, or its key."""


def ending_of_said(text: str, *, key: str, category: str, since: datetime) -> Ending:
    """Return when a fact ends that was said on purpose: never, unless it says that it passes."""
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
    """Return the class that the words of a fact speak for."""
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
    if has(_CHECKPOINT_KEYS):
        return DecayClass.CHECKPOINT
    return DecayClass.STABLE


def expiry(decay: DecayClass, *, since: datetime) -> datetime | None:
    """Return when a fact of this class ends that was stored or used then; None is never."""
    lifetime = LIFETIMES[decay]
    return None if lifetime is None else since + lifetime


def is_expired(fact: Fact, *, now: datetime) -> bool:
    """Tell whether a fact has outlived its class."""
    return fact.expires is not None and fact.expires <= now


def refreshed(fact: Fact, *, now: datetime) -> Fact:
    """Return a fact that was just used: it lives on if its class does and it still lives.

    An expiry is only ever moved to later, and what has none gets none.
    """
    if fact.decay not in REFRESHED or fact.expires is None or fact.expires <= now:
        return fact
    later = expiry(fact.decay, since=now)
    return fact if later is None or later <= fact.expires else replace(fact, expires=later)


def faded_confidence(fact: Fact, *, now: datetime) -> float:
    """Return how much a fact is still to be trusted, by what is left of its lifetime."""
    lifetime = LIFETIMES[fact.decay]
    if lifetime is None or fact.expires is None:
        return fact.confidence
    is_fading = fact.expires - now < lifetime * (1 - FADING_SHARE)
    return fact.confidence * FADED_FACTOR if is_fading else fact.confidence


class PruneReason(StrEnum):
    """Why a fact would go."""

    EXPIRED = "expired"
    FADED = "faded"
    """Hardly trusted, and old for its class."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A fact that would go, and why."""

    fact: Fact
    reason: PruneReason


def prune_plan(facts: Iterable[Fact], *, now: datetime) -> tuple[Pruned, ...]:
    """Return what pruning removes at this moment; a dry run shows it, pruning carries it out.

    What has no expiry stays, whatever its class: so does every bullet that a person wrote.
    """
    found = ((fact, _reason(fact, now=now)) for fact in facts)
    return tuple(Pruned(fact, reason) for fact, reason in found if reason is not None)


def _reason(fact: Fact, *, now: datetime) -> PruneReason | None:
    if is_expired(fact, now=now):
        return PruneReason.EXPIRED
    if fact.expires is not None and faded_confidence(fact, now=now) < LEAST_CONFIDENCE:
        return PruneReason.FADED
    return None
