"""Tells which facts are valid at a moment, and which superseded which.

Supersession goes by id, never by text: what was withdrawn may be stated again. A fact is superseded
if it says so itself or if another fact of the same scope says so, so that a link that was half
written or edited by hand still counts.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.record import NO_SUCCESSOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.facts.record import Fact

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for an unknown beginning, or the unknown end of a fact struck out by hand."""


def active(
    facts: Mapping[str, Fact],
    *,
    now: datetime,
    as_of: datetime | None = None,
    include_superseded: bool = False,
) -> tuple[Fact, ...]:
    """Return the valid facts, in order.

    A fact is valid from its `valid_from`, or else from its creation, until its `valid_until`, until
    its successor begins, or until it expires. One that was struck out by hand has no known end and
    is never valid. `include_superseded` adds those that are not valid because of a successor.
    """
    at = as_of or now
    successors = successors_of(facts)
    return tuple(
        fact
        for fact in facts.values()
        if (fact.begins is None or fact.begins <= at)
        and not fact.is_expired(at)
        and (
            (include_superseded and fact.id in successors)
            or (end := end_of(fact, facts, successor=successors.get(fact.id, ""))) is None
            or at < end
        )
    )


def end_of(fact: Fact, facts: Mapping[str, Fact], *, successor: str) -> datetime | None:
    """Return when a fact is no longer valid, because of its own end, expiry or successor."""
    ends = [each for each in (fact.valid_until, fact.expires) if each is not None]
    if successor:
        by = facts.get(successor)
        begins = by.begins if by else None
        if begins is not None or fact.valid_until is None:
            ends.append(begins or LONG_AGO)
    return min(ends, default=None)


def successors_of(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return the successor of each superseded fact: an id, known or not, or `NO_SUCCESSOR`."""
    found = {fact.id: fact.superseded_by for fact in facts.values() if fact.superseded_by}
    for fact in facts.values():
        for old_id in fact.supersedes:
            old = facts.get(old_id)
            if old is not None and old.scope == fact.scope:
                found.setdefault(old_id, fact.id)
    return found


def orphans(facts: Mapping[str, Fact]) -> list[Fact]:
    """Return facts whose successor does not exist: its line was deleted or its id misspelt."""
    return [
        fact
        for fact in facts.values()
        if fact.superseded_by not in {"", NO_SUCCESSOR} and fact.superseded_by not in facts
    ]


def cycles(facts: Mapping[str, Fact]) -> list[tuple[str, ...]]:
    """Return the ids of facts that supersede each other, one tuple per cycle."""
    successors = successors_of(facts)
    found: list[tuple[str, ...]] = []
    passed: set[str] = set()
    for start in successors:
        trail: dict[str, None] = {}
        at = start
        while at in successors and at not in passed:
            passed.add(at)
            trail[at] = None
            at = successors[at]
        if at in trail:
            steps = list(trail)
            found.append(tuple(steps[steps.index(at) :]))
    return found


def chain(facts: Mapping[str, Fact], fact_id: str) -> tuple[Fact, ...]:
    """Return a fact followed by its successors; raise UsageError if they form a cycle."""
    if fact_id not in facts:
        raise no_such_fact(fact_id)
    successors = successors_of(facts)
    found = {fact_id: facts[fact_id]}
    while (fact_id := successors.get(fact_id, "")) in facts:
        if fact_id in found:
            raise UsageError(
                f"These facts supersede each other: {', '.join(found)}.",
                action="Remove one superseded-by or supersedes from the ledger.",
            )
        found[fact_id] = facts[fact_id]
    return tuple(found.values())


def ancestors(fact: Fact, facts: Mapping[str, Fact]) -> list[Fact]:
    """Return the facts that a fact superseded, directly or indirectly, oldest first."""
    found: dict[str, Fact] = {}
    waiting = list(fact.supersedes)
    while waiting:
        older = facts.get(waiting.pop())
        if older is not None and older.id not in found and older.id != fact.id:
            found[older.id] = older
            waiting += older.supersedes
    return sorted(found.values(), key=lambda each: (each.begins or LONG_AGO, each.id))


def lineage(facts: Mapping[str, Fact], fact_id: str) -> tuple[Fact, ...]:
    """Return a fact with its predecessors and successors, oldest first."""
    after = chain(facts, fact_id)
    before = [each for each in ancestors(facts[fact_id], facts) if each not in after]
    return (*before, *after)


def no_such_fact(fact_id: str) -> NotFoundError:
    """Return the error for an unknown id."""
    return NotFoundError(
        f"There is no fact {fact_id}.", action="`recollect facts list` shows all facts."
    )
