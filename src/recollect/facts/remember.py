"""Storing a fact by the rules: decided and written on what the ledger holds at that moment.

To be called inside `Ledger.edit`: then two processes that say the same at once store it once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.facts.history import head, restored, resumed, successors_of, superseded
from recollect.facts.rules import Decision, Nearest, Verdict, decide

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.facts.draft import Draft
    from recollect.facts.record import Fact


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a fact."""

    fact: Fact
    """As it stands in the ledger: where it was known, the one that was; as given if forgotten."""
    decision: Decision
    notices: tuple[str, ...] = ()
    """What whoever said it should know besides."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """What superseding came to."""

    old: Fact
    """What holds no more: the end of its chain, where it had been superseded already."""
    by: Fact


@dataclass(frozen=True, slots=True)
class Restored:
    """What taking it back came to."""

    fact: Fact
    """Holds again."""
    others: tuple[Fact, ...]
    """Had taken its place, and still hold for themselves if they did."""


def remember(
    draft: Draft, fact: Fact, *, now: datetime, nearest: Nearest | None = None
) -> Remembered:
    """Store a fact, or find that it is known, and say which.

    Args:
        draft: of the ledger.
        fact: to be stored; what it names in `supersedes` is marked.
        now: the present.
        nearest: the fact whose vector is nearest, where vectors are to be had.

    Raises:
        NotFoundError: what it supersedes does not exist.
        UsageError: it supersedes what has another scope.

    """
    decision = decide(fact, draft.facts, now=now, nearest=nearest, forgotten=draft.state.forgotten)
    match decision.verdict:
        case Verdict.EXISTING:
            return Remembered(decision.others[0], decision)
        case Verdict.FORGOTTEN:
            return Remembered(fact, decision)
        case Verdict.UPDATE:
            return Remembered(draft.put(fact), decision)
        case Verdict.SUPERSEDE:
            bare = replace(fact, supersedes=())  # it is given the ids of those that hold instead
            return Remembered(_supersede(draft, bare, decision.others), decision)
        case Verdict.CONTRADICTS:
            # Only offered: it must not count as superseding before somebody says so.
            return Remembered(draft.add(replace(fact, supersedes=())), decision)
        case Verdict.ADD:
            return Remembered(draft.add(fact), decision)


def supersede(draft: Draft, old_id: str, *, by_id: str) -> Superseded:
    """Mark a fact as superseded by another that is stored.

    Raises:
        NotFoundError: one of them does not exist.
        UsageError: their scopes differ, or they would supersede each other in a circle.

    """
    by = draft.fact(by_id)
    old = head(draft.facts, draft.fact(old_id).id)
    after = _supersede(draft, by, (old,))
    return Superseded(draft.fact(old.id), after)


def restore(draft: Draft, fact_id: str) -> Restored:
    """Let a fact that was superseded hold again, beside what took its place.

    Raises:
        NotFoundError: there is no such fact.
        UsageError: nothing took its place.

    """
    before = draft.fact(fact_id)
    changed = restored(draft.facts, fact_id)
    for after in changed.values():
        draft.put(after)
    named = dict.fromkeys([before.superseded_by, *changed])
    others = (draft.facts[each] for each in named if each in draft.facts and each != fact_id)
    return Restored(changed[fact_id], tuple(others))


def forget(draft: Draft, fact_id: str) -> Fact:
    """Remove a fact for good; what it took the place of goes to its own successor, or holds again.

    Raises:
        NotFoundError: there is no such fact.

    """
    successors = successors_of(draft.facts)
    heir = draft.facts.get(successors.get(fact_id, ""))
    forgotten = draft.forget(fact_id)
    for old_id in [each for each, successor in successors.items() if successor == fact_id]:
        old = draft.fact(old_id)
        if heir is None:
            draft.put(resumed(old, after=forgotten))
        else:
            draft.put(replace(old, superseded_by=heir.id))
    return forgotten


def _supersede(draft: Draft, fact: Fact, others: tuple[Fact, ...]) -> Fact:
    changed = superseded(draft.facts, tuple(other.id for other in others), by=fact)
    if fact.id not in draft.facts:
        draft.add(changed[fact.id])
    for after in changed.values():
        draft.put(after)
    return changed[fact.id]
