"""Storing a fact by the rules: decided and written on what the ledger holds at that moment.

To be called inside `Ledger.edit`: then two processes that say the same at once store it once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.facts.history import superseded
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


def supersede(draft: Draft, old_id: str, *, by_id: str) -> Fact:
    """Mark a fact as superseded by another that is stored; return the latter.

    Raises:
        NotFoundError: one of them does not exist.
        UsageError: their scopes differ, or they would supersede each other in a circle.

    """
    return _supersede(draft, draft.fact(by_id), (draft.fact(old_id),))


def _supersede(draft: Draft, fact: Fact, others: tuple[Fact, ...]) -> Fact:
    changed = superseded(draft.facts, tuple(other.id for other in others), by=fact)
    if fact.id not in draft.facts:
        draft.add(changed[fact.id])
    for after in changed.values():
        draft.put(after)
    return changed[fact.id]
