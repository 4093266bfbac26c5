"""What becomes of a fact that is to be stored: it is known, contradicts, supersedes, or is new.

The rules, in order; the first that fits decides:

1. The same id: an update, or nothing if nothing differs.
2. It names what it supersedes: that is done, if the scope is the same. What is extracted may name
   only what was extracted.
3. Forgotten on purpose: what is extracted does not come back; what is said explicitly does.
4. The same normalised text in the same scope, and it holds: known.
5. The same entity and key in the same scope with another value: a contradiction. It supersedes by
   itself if it is newer or as new, not less sure, and said explicitly (by the owner, or by an agent
   by a call), or else extracted from the very file that the old one was. Otherwise it is stored
   beside it and the contradiction is offered for decision. So what is extracted never supersedes
   what the owner or an agent said.
6. The same entity, key and value, and it is extracted: known; models word things differently.
7. The nearest fact is near enough by cosine, in the same scope, and tells no other number and is
   not its negation: known. Such texts are as near as real duplicates, but not the same.

A scope is compared as a whole: what holds for one user contradicts nothing of another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.facts.history import active, head
from recollect.facts.identity import normalised_digest
from recollect.facts.record import EXPLICIT
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from recollect.facts.record import Fact

REMEMBER_COSINE = 0.95
"""From here a text that was said on purpose is the same but for its wording: rather keep two."""
INGEST_COSINE = 0.92
"""From here a text that a model extracted adds nothing: rather keep one."""

_NUMBER = re.compile(r"[^\W_]*\d[\w.:/-]*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|cannot|none|neither|nor|nicht|kein\w*|nie|не|нет|никогда)\b"
    r"|n['’]t\b|不|没|ない"
)
_LINES = re.compile(r":\d+(?:-\d+)?\Z|#L\d+(?:-L\d+)?\Z")
_EXTRACTED = "what is extracted does not supersede what the owner or an agent said"


class Verdict(StrEnum):
    """What becomes of a fact."""

    ADD = "add"
    UPDATE = "update"
    """It takes the place of the one with the same id."""
    EXISTING = "existing"
    """Nothing: it is known."""
    SUPERSEDE = "supersede"
    """It is added, and others are marked as superseded by it."""
    CONTRADICTS = "contradicts"
    """It is added, and the contradiction is offered for decision."""
    FORGOTTEN = "forgotten"
    """Nothing: it was forgotten on purpose."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a fact, because of which others, and why."""

    verdict: Verdict
    others: tuple[Fact, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The stored fact whose vector is nearest, and its cosine: of unit vectors, from -1 to 1."""

    fact_id: str
    cosine: float


def decide(
    fact: Fact,
    facts: Mapping[str, Fact],
    *,
    now: datetime,
    nearest: Nearest | None = None,
    forgotten: frozenset[str] = frozenset(),
) -> Decision:
    """Return what becomes of a fact, by the rules above.

    Args:
        fact: to be stored.
        facts: all that are, by id.
        now: the present, to tell which of them hold.
        nearest: of the facts by vector, in the same scope if possible; None where there is none.
        forgotten: digests of the normalised texts that are not to be learned again.

    Raises:
        NotFoundError: what it supersedes does not exist.

    """
    if fact.id in facts:
        same = facts[fact.id]
        if same == fact:
            return Decision(Verdict.EXISTING, (same,), "it is stored already")
        return Decision(Verdict.UPDATE, (same,), "it has the same id")
    if fact.supersedes:
        heads = {each.id: each for old_id in fact.supersedes for each in [head(facts, old_id)]}
        return _asked_for(fact, tuple(heads.values()))
    is_explicit = fact.provenance in EXPLICIT
    if not is_explicit and normalised_digest(fact.text) in forgotten:
        return Decision(Verdict.FORGOTTEN, (), "it was forgotten on purpose")
    peers = [each for each in active(facts, now=now) if each.scope == fact.scope]
    words = normalised(fact.text)
    known = next((each for each in peers if normalised(each.text) == words), None)
    if known is not None:
        return Decision(Verdict.EXISTING, (known,), "the same text is stored")
    return (
        _contradiction(fact, peers)
        or (None if is_explicit else _same_statement(fact, peers))
        or _near_duplicate(fact, peers, nearest)
        or Decision(Verdict.ADD)
    )


def contradictions(facts: Mapping[str, Fact], *, now: datetime) -> tuple[tuple[Fact, ...], ...]:
    """Return the groups of facts that hold and contradict each other: to be decided by a person."""
    groups: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in active(facts, now=now):
        if subject := _subject(fact):
            groups.setdefault((str(fact.scope), *subject), []).append(fact)
    return tuple(
        tuple(group)
        for group in groups.values()
        if len({normalised(fact.value) for fact in group}) > 1
    )


def contradicting(facts: Mapping[str, Fact], *, now: datetime) -> dict[str, tuple[Fact, ...]]:
    """Return for each fact that contradicts others, by id, those with another value."""
    return {
        fact.id: tuple(each for each in group if normalised(each.value) != normalised(fact.value))
        for group in contradictions(facts, now=now)
        for fact in group
    }


def _asked_for(fact: Fact, others: tuple[Fact, ...]) -> Decision:
    if fact.provenance not in EXPLICIT and any(each.provenance in EXPLICIT for each in others):
        return Decision(Verdict.CONTRADICTS, others, _EXTRACTED)
    return Decision(Verdict.SUPERSEDE, others, "it was asked for")


def _contradiction(fact: Fact, peers: list[Fact]) -> Decision | None:
    subject = _subject(fact)
    others = tuple(
        each
        for each in peers
        if subject
        and _subject(each) == subject
        and normalised(each.value) != normalised(fact.value)
    )
    if not others:
        return None
    doubts = [doubt for other in others if (doubt := _doubt(fact, other))]
    if doubts:
        return Decision(Verdict.CONTRADICTS, others, doubts[0])
    return Decision(Verdict.SUPERSEDE, others, "it is a newer value of the same entity and key")


def _doubt(fact: Fact, other: Fact) -> str:
    """Return why a fact does not supersede another by itself; empty when it does."""
    if fact.provenance not in EXPLICIT:
        if other.provenance in EXPLICIT:
            return _EXTRACTED
        if not _file_of(fact) or _file_of(fact) != _file_of(other):
            return "they were extracted from different files"
    if fact.begins is not None and other.begins is not None and fact.begins < other.begins:
        return f"{other.id} began later and holds now"
    if fact.confidence < other.confidence:
        return "it is less sure"
    return ""


def _same_statement(fact: Fact, peers: list[Fact]) -> Decision | None:
    subject = _subject(fact)
    for each in peers:
        if subject and _subject(each) == subject:  # the value is the same: else it contradicts
            return Decision(Verdict.EXISTING, (each,), "the same entity, key and value are stored")
    return None


def _near_duplicate(fact: Fact, peers: list[Fact], nearest: Nearest | None) -> Decision | None:
    least = REMEMBER_COSINE if fact.provenance in EXPLICIT else INGEST_COSINE
    if nearest is None or nearest.cosine < least:
        return None
    other = next((each for each in peers if each.id == nearest.fact_id), None)
    if other is None or not _may_be_the_same(fact.text, other.text):
        return None
    return Decision(Verdict.EXISTING, (other,), f"it says the same (cosine {nearest.cosine:.3f})")


def _may_be_the_same(one: str, other: str) -> bool:
    first, second = normalised(one), normalised(other)
    if sorted(_NUMBER.findall(first)) != sorted(_NUMBER.findall(second)):
        return False
    return len(_NEGATION.findall(first)) == len(_NEGATION.findall(second))


def _subject(fact: Fact) -> tuple[str, str] | None:
    entity, key = normalised(fact.entity), normalised(fact.key)
    return (entity, key) if entity and key and normalised(fact.value) else None


def _file_of(fact: Fact) -> str:
    return _LINES.sub("", fact.source)
