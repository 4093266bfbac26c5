"""Applies changes to a draft of the ledger: remember, supersede, restore, forget, prune.

Call these inside `Ledger.edit`: then two processes that state the same fact at once store it once.
`FactBook` documents the errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.facts.history import ended, head, restored, resumed, successors_of, superseded
from recollect.facts.record import DEFAULT_CATEGORY, EXPLICIT, NO_SUCCESSOR
from recollect.facts.rules import NOTHING_KNOWN, Decision, Verdict, contradicting, decide
from recollect.records import dataclass
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from recollect.facts.draft import Draft
    from recollect.facts.record import Fact


@dataclass(frozen=True, slots=True)
class Remembered:
    """What happened to a fact."""

    fact: Fact
    """The fact as stored; the known one if it was known; as given if it was forgotten."""
    decision: Decision
    notices: tuple[str, ...] = ()
    """Remarks for the person or program that stated it."""
    contradicts: tuple[Fact, ...] = ()
    """Valid facts that it contradicts: a person has to decide."""
    because: str = ""
    """Why it expires, if nobody chose when."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """The outcome of superseding a fact."""

    old: Fact
    """The fact that is no longer valid: the end of its chain if it was already superseded."""
    by: Fact


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of restoring a superseded fact."""

    fact: Fact
    """The fact, which is valid again."""
    others: tuple[Fact, ...]
    """The facts that superseded it."""


def remember(
    draft: Draft,
    fact: Fact,
    *,
    now: datetime,
    shares: Mapping[str, float] = NOTHING_KNOWN,
    has_ending: bool = False,
) -> Remembered:
    """Store a fact unless it is known; return what happened.

    Args:
        draft: of the ledger.
        fact: to store; the facts in its `supersedes` are marked as superseded.
        now: the current time.
        shares: how near stored facts are in meaning, by id, as far as known.
        has_ending: its expiry was chosen explicitly and applies even if the fact is known.

    """
    decision = decide(fact, draft.facts, now=now, shares=shares, forgotten=draft.state.forgotten)
    done = _applied(draft, fact, decision, has_ending=has_ending)
    if done.decision.verdict in {Verdict.UPDATE, Verdict.SUPERSEDE}:
        others = contradicting(draft.facts, now=now).get(done.fact.id, ())
        return replace(done, contradicts=others)
    return done


def _applied(draft: Draft, fact: Fact, decision: Decision, *, has_ending: bool) -> Remembered:
    match decision.verdict:
        case Verdict.EXISTING:
            return _completed(draft, decision, fact, has_ending=has_ending)
        case Verdict.FORGOTTEN:
            return Remembered(fact, decision)
        case Verdict.UPDATE:
            return Remembered(draft.put(fact), decision)
        case Verdict.SUPERSEDE:
            bare = replace(fact, supersedes=())  # superseding fills in the ids that are valid
            return Remembered(_supersede(draft, bare, decision.others), decision)
        case Verdict.CONTRADICTS:
            # Only a proposal: it must not count as superseding until a person says so.
            return Remembered(draft.add(replace(fact, supersedes=())), decision)
        case Verdict.ADD:
            return Remembered(draft.add(fact), decision)


def supersede(draft: Draft, old_id: str, *, by_id: str) -> Superseded:
    """Mark a fact as superseded by another stored fact."""
    by = draft.fact(by_id)
    old = draft.fact(old_id)
    if _is_half_written(draft, old, by=by):
        after = draft.put(replace(by, supersedes=tuple(dict.fromkeys([*by.supersedes, old.id]))))
        return Superseded(draft.put(ended(old, by=by)), after)
    before = head(draft.facts, old.id)
    after = _supersede(draft, by, (old,))
    return Superseded(draft.fact(before.id), after)


def _is_half_written(draft: Draft, old: Fact, *, by: Fact) -> bool:
    """Return whether only one of two facts names the other: the disk failed between their files."""
    return successors_of(draft.facts).get(old.id) == by.id and (
        old.superseded_by != by.id or old.id not in by.supersedes
    )


def restore(draft: Draft, fact_id: str) -> Restored:
    """Make a superseded fact valid again; its successors stay."""
    before = draft.fact(fact_id)
    changed = restored(draft.facts, fact_id)
    for after in changed.values():
        draft.put(after)
    named = dict.fromkeys([before.superseded_by, *changed])
    others = (draft.facts[each] for each in named if each in draft.facts and each != fact_id)
    return Restored(changed[fact_id], tuple(others))


def forget(draft: Draft, fact_id: str) -> Fact:
    """Remove a fact for good; what it superseded goes to its own successor, or is valid again."""
    successors = successors_of(draft.facts)
    heir = draft.facts.get(successors.get(fact_id, ""))
    forgotten = draft.forget(fact_id)
    left = tuple(each for each, successor in successors.items() if successor == fact_id)
    for old_id in left:
        old = resumed(draft.fact(old_id), after=forgotten)
        draft.put(old if heir is None else ended(old, by=heir))
    if heir is not None:
        names = (each for each in (*heir.supersedes, *left) if each != fact_id)
        draft.put(replace(heir, supersedes=tuple(dict.fromkeys(names))))
    return forgotten


def prune(draft: Draft, fact_ids: Collection[str]) -> None:
    """Remove facts; what they superseded counts as withdrawn and does not come back."""
    gone = frozenset(fact_ids)
    for old_id, successor in successors_of(draft.facts).items():
        if successor in gone and old_id not in gone:
            draft.put(replace(draft.fact(old_id), superseded_by=NO_SUCCESSOR))
    for fact_id in gone:
        draft.remove(fact_id)


def _completed(draft: Draft, decision: Decision, fact: Fact, *, has_ending: bool) -> Remembered:
    """Add missing details to a known fact; report the details that were not taken."""
    known = decision.others[0]
    if fact.provenance not in EXPLICIT:
        return Remembered(known, decision)
    is_trusted = fact.confidence >= known.confidence
    after = _with_details(known, fact) if is_trusted else known
    if has_ending:
        after = replace(after, decay=fact.decay, expires=fact.expires)
    notices = _not_taken(after, fact)
    if after == known:
        return Remembered(known, decision, notices)
    names = [name for name in (*_DETAILS, "expires") if _of(after, name) != _of(known, name)]
    reason = f"it was known; updated: {', '.join(names)}"
    return Remembered(draft.put(after), Decision(Verdict.UPDATE, (known,), reason), notices)


_SUBJECT = ("entity", "key", "value")
_DETAILS = ("category", *_SUBJECT, "tags")


def _of(fact: Fact, name: str) -> object:
    return getattr(fact, name)


def _with_details(known: Fact, fact: Fact) -> Fact:
    """Return a known fact with the details that only the new one of the same text has."""
    given = {name: str(_of(fact, name)) for name in _SUBJECT if _of(fact, name)}
    had = {name: str(_of(known, name)) for name in _SUBJECT}
    if any(had[name] and normalised(had[name]) != normalised(given[name]) for name in given):
        given = {}  # they describe another entity
    subject = {name: had[name] or given.get(name, "") for name in _SUBJECT}
    return replace(
        known,
        category=fact.category if known.category == DEFAULT_CATEGORY else known.category,
        entity=subject["entity"],
        key=subject["key"],
        value=subject["value"],
        tags=tuple(dict.fromkeys([*known.tags, *fact.tags])),
    )


def _not_taken(known: Fact, fact: Fact) -> tuple[str, ...]:
    left = [
        f"{name} {given}"
        for name in ("category", *_SUBJECT)
        if (given := str(_of(fact, name))) not in {"", DEFAULT_CATEGORY}
        and normalised(given) != normalised(str(_of(known, name)))
    ]
    left += [f"tag {tag}" for tag in fact.tags if tag not in known.tags]
    if fact.valid_from not in {None, known.valid_from}:
        left.append("when it began")
    if not left:
        return ()
    action = f"Edit its line in memory/facts, or forget {known.id} and state it again."
    return (f"Ignored, because it is known as {known.id}: {', '.join(left)}. {action}",)


def _supersede(draft: Draft, fact: Fact, others: tuple[Fact, ...]) -> Fact:
    changed = superseded(draft.facts, tuple(other.id for other in others), by=fact)
    if fact.id not in draft.facts:
        draft.add(changed[fact.id])
    for after in changed.values():
        draft.put(after)
    return changed[fact.id]
