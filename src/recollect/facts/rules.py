"""Decides whether a new fact is known, contradicts or supersedes others, or is added.

The rules, in order; the first match decides:

1. It names what it supersedes: that is done, if the scope is the same. An extracted fact may name
   only extracted ones.
2. Forgotten on purpose: an extracted fact does not come back; an explicit one does.
3. Same normalised text as a valid fact of the same scope: known.
4. Same entity and key in the same scope with another value: a contradiction. The new fact
   supersedes the old one if it is not older, not less confident, and either explicit (from the
   owner, or from an agent by a call) or extracted from the same file. Otherwise both are stored and
   a person decides. So an extracted fact never supersedes an explicit one.
5. Same entity, key and value, and it is extracted: known; models vary their wording.
6. It says in other words what a valid fact of the same scope says (`compare`): known if that is
   sure, or if it is extracted: its file says it anyway. An explicit fact for which that is only
   likely is added, and the other one is named as its duplicate.

Facts of different scopes never contradict each other nor say the same. The same words in the same
order are sure, all others likely (`text/claims.py`, numbers in docs/decisions/facts.md).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.facts.record import EXPLICIT, normalised_digest
from recollect.facts.state import active, chain
from recollect.records import dataclass
from recollect.shape import Shape
from recollect.text.claims import Wording, compare_claims, may_agree
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from recollect.facts.record import Fact

_LINES = re.compile(r":\d+(?:-\d+)?\Z|#L\d+(?:-L\d+)?\Z")
_EXTRACTED = "an extracted fact does not supersede one from the owner or an agent"


class Verdict(StrEnum):
    """What happens to a new fact."""

    ADD = "add"
    UPDATE = "update"
    """It is known; details that only it has are added."""
    EXISTING = "existing"
    """It is known; nothing is stored."""
    SUPERSEDE = "supersede"
    """It is added and supersedes others."""
    CONTRADICTS = "contradicts"
    """It is added although it contradicts others; a person decides."""
    FORGOTTEN = "forgotten"
    """It was forgotten on purpose; nothing is stored."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the facts that led to it, and the reason."""

    verdict: Verdict
    others: tuple[Fact, ...] = ()
    reason: str = ""
    duplicates: tuple[Duplicate, ...] = ()
    """Valid facts that probably say the same as the added one."""


def decide(
    fact: Fact, facts: Mapping[str, Fact], *, now: datetime, forgotten: frozenset[str] = frozenset()
) -> Decision:
    """Decide by the rules above; `forgotten` has digests that extraction must not store again."""
    if fact.supersedes:
        ends = [chain(facts, old_id)[-1] for old_id in fact.supersedes]
        others = tuple({each.id: each for each in ends}.values())
        if fact.provenance not in EXPLICIT and any(each.provenance in EXPLICIT for each in others):
            return Decision(Verdict.CONTRADICTS, others, _EXTRACTED)
        return Decision(Verdict.SUPERSEDE, others, "it was requested")
    if fact.provenance not in EXPLICIT and normalised_digest(fact.text) in forgotten:
        return Decision(Verdict.FORGOTTEN, (), "it was forgotten on purpose")
    peers = [each for each in active(facts, now=now) if each.scope == fact.scope]
    words = normalised(fact.text)
    known = next((each for each in peers if normalised(each.text) == words), None)
    if known is not None:
        return Decision(Verdict.EXISTING, (known,), "the same text is stored")
    return _same_subject(fact, peers) or _in_other_words(fact, peers)


def contradicting(facts: Mapping[str, Fact], *, now: datetime) -> dict[str, tuple[Fact, ...]]:
    """Return the valid facts that each valid fact contradicts, by its id."""
    groups: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in active(facts, now=now):
        if subject := _subject(fact):
            groups.setdefault((fact.scope, *subject), []).append(fact)
    found = {
        fact.id: tuple(each for each in group if normalised(each.value) != normalised(fact.value))
        for group in groups.values()
        for fact in group
    }
    return {fact_id: others for fact_id, others in found.items() if others}


def _same_subject(fact: Fact, peers: list[Fact]) -> Decision | None:
    subject = _subject(fact)
    same = [each for each in peers if subject and _subject(each) == subject]
    others = tuple(each for each in same if normalised(each.value) != normalised(fact.value))
    if not others:
        if not same or fact.provenance in EXPLICIT:
            return None
        return Decision(Verdict.EXISTING, (same[0],), "the same entity, key and value are stored")
    doubts = [doubt for other in others if (doubt := _doubt(fact, other))]
    if doubts:
        return Decision(Verdict.CONTRADICTS, others, doubts[0])
    return Decision(Verdict.SUPERSEDE, others, "same entity and key, newer value")


def _doubt(fact: Fact, other: Fact) -> str:
    """Return why a fact does not supersede another automatically; empty if it does."""
    if fact.provenance not in EXPLICIT:
        if other.provenance in EXPLICIT:
            return _EXTRACTED
        if not _file_of(fact) or _file_of(fact) != _file_of(other):
            return "they were extracted from different files"
    if fact.begins is not None and other.begins is not None and fact.begins < other.begins:
        return f"{other.id} is newer"
    return "it is less confident" if fact.confidence < other.confidence else ""


def _in_other_words(fact: Fact, peers: list[Fact]) -> Decision:
    found = [alike for each in peers if (alike := compare(fact, each))]
    for alike in found:
        if alike.is_sure or fact.provenance not in EXPLICIT:
            return Decision(Verdict.EXISTING, (alike.fact,), f"it says {alike.reason}")
    return Decision(Verdict.ADD, duplicates=tuple(found))


def _subject(fact: Fact) -> tuple[str, str] | None:
    entity, key = normalised(fact.entity), normalised(fact.key)
    return (entity, key) if entity and key and normalised(fact.value) else None


def _file_of(fact: Fact) -> str:
    return _LINES.sub("", fact.source)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A stored fact that says the same as a new one, or seems to."""

    shape = Shape(hidden="is_sure", merged="fact")
    fact: Fact
    reason: str
    is_sure: bool = False


def compare(fact: Fact, other: Fact) -> Duplicate | None:
    """Compare a new fact with a stored one by words; None if they do not seem to say the same."""
    if fact.scope != other.scope:
        return None
    wording = compare_claims(fact.text, other.text)
    if wording is None and not (fact.entity and fact.key and fact.value):
        return None
    details, others = _details(fact), _details(other)
    if any(a and b and a != b for a, b in zip(details, others, strict=True)):
        return None
    if wording is not None:
        return Duplicate(other, wording.value, is_sure=wording is Wording.SAME)
    is_same = details == others and may_agree(fact.text, other.text)
    return Duplicate(other, "the same entity, key and value") if is_same else None


def _details(fact: Fact) -> tuple[str, str, str]:
    return normalised(fact.entity), normalised(fact.key), normalised(fact.value)
