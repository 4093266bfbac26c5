"""Which facts hold at a moment, and what took the place of what.

Supersession goes by id and never by text: what was once withdrawn may be said again. A fact is
superseded when it says so itself, or when another one of the same scope says so: then a link that
was written half, or edited by hand, still counts.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.decay import is_expired
from recollect.facts.record import NO_SUCCESSOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.facts.record import Fact

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When a fact began, or ended as it was struck out by hand, of which that is not known."""


def active(
    facts: Mapping[str, Fact],
    *,
    now: datetime,
    as_of: datetime | None = None,
    include_superseded: bool = False,
) -> tuple[Fact, ...]:
    """Return the facts that hold, in their order.

    A fact holds from its `valid_from`, else from when it was stored, until its `valid_until`, or
    until its successor begins. One whose end is not known, as it was struck out by hand, never
    does. One that expired does not hold any more.

    Args:
        facts: all of them, by id.
        now: the present.
        as_of: another moment to look at.
        include_superseded: also what no longer holds because another fact took its place.

    """
    at = as_of or now
    successors = successors_of(facts)
    return tuple(
        fact
        for fact in facts.values()
        if _has_begun(fact, at)
        and not is_expired(fact, now=at)
        and (
            _is_before_end(fact, at, successor=successors.get(fact.id), facts=facts)
            or (include_superseded and fact.id in successors)
        )
    )


def successors_of(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Return what superseded each fact that is: an id, which need not exist, or `NO_SUCCESSOR`."""
    found = {fact.id: fact.superseded_by for fact in facts.values() if fact.superseded_by}
    for fact in facts.values():
        for old_id in fact.supersedes:
            old = facts.get(old_id)
            if old is not None and old.scope == fact.scope:
                found.setdefault(old_id, fact.id)
    return found


def orphans(facts: Mapping[str, Fact]) -> list[Fact]:
    """Return what was superseded by a fact that is not there: its line was deleted, or misspelt."""
    return [
        fact
        for fact in facts.values()
        if fact.superseded_by not in {"", NO_SUCCESSOR} and fact.superseded_by not in facts
    ]


def circles(facts: Mapping[str, Fact]) -> list[tuple[str, ...]]:
    """Return the ids of facts that supersede each other in a circle, a circle each."""
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


def head(facts: Mapping[str, Fact], fact_id: str) -> Fact:
    """Return what holds in place of a fact now: the end of its chain, or the fact itself.

    Raises:
        NotFoundError: there is no such fact.
        UsageError: the chain, edited by hand, leads back to itself.

    """
    return chain(facts, fact_id)[-1]


def chain(facts: Mapping[str, Fact], fact_id: str) -> tuple[Fact, ...]:
    """Return a fact and what took its place, one after the other.

    Raises:
        NotFoundError: there is no such fact.
        UsageError: the chain, edited by hand, leads back to itself.

    """
    if fact_id not in facts:
        raise _no_such(fact_id)
    successors = successors_of(facts)
    found = {fact_id: facts[fact_id]}
    while (fact_id := successors.get(fact_id, "")) in facts:
        if fact_id in found:
            raise UsageError(
                f"Facts supersede each other in a circle: {', '.join(found)}.",
                action="Remove a superseded-by or supersedes in the ledger.",
            )
        found[fact_id] = facts[fact_id]
    return tuple(found.values())


def ancestors(fact: Fact, facts: Mapping[str, Fact]) -> list[Fact]:
    """Return what a fact took the place of, and what that did, oldest first."""
    found: dict[str, Fact] = {}
    waiting = list(fact.supersedes)
    while waiting:
        older = facts.get(waiting.pop())
        if older is not None and older.id not in found and older.id != fact.id:
            found[older.id] = older
            waiting += older.supersedes
    return sorted(found.values(), key=lambda each: (each.begins or LONG_AGO, each.id))


def lineage(facts: Mapping[str, Fact], fact_id: str) -> tuple[Fact, ...]:
    """Return a fact with all that it superseded and was superseded by, oldest first.

    Raises:
        NotFoundError: there is no such fact.
        UsageError: the chain, edited by hand, leads back to itself.

    """
    after = chain(facts, fact_id)
    before = [each for each in ancestors(facts[fact_id], facts) if each not in after]
    return (*before, *after)


def superseded(facts: Mapping[str, Fact], old_ids: tuple[str, ...], by: Fact) -> dict[str, Fact]:
    """Return what changes, by id, when a fact takes the place of others: itself and those.

    Of a fact that is superseded already, the one that took its place is meant.

    Args:
        facts: all of them, by id.
        old_ids: what is superseded.
        by: the successor, new or one of the facts.

    Raises:
        NotFoundError: one of the old facts does not exist.
        UsageError: the scopes differ, or a fact would supersede itself in the end.

    """
    heads = {old.id: old for old_id in old_ids for old in [head(facts, old_id)]}
    for old in heads.values():
        if old.scope != by.scope:
            raise UsageError(
                f"{by.id} is for {by.scope} and cannot supersede {old.id}, which is for"
                f" {old.scope}.",
                action="Give both the same scope.",
            )
        if old.id == by.id:
            is_itself = by.id in old_ids
            raise UsageError(
                f"{by.id} cannot supersede itself."
                if is_itself
                else f"{by.id} took the place of {', '.join(old_ids)} already.",
                action="Name another fact." if is_itself else "Nothing is to be done.",
            )
        if any(step.id == old.id for step in _chain_if_known(facts, by)):
            raise UsageError(
                f"{by.id} cannot supersede {old.id}, which took its place.",
                action=f"`recollect facts supersede --undo {by.id}` lets it hold again; then"
                " supersede the other.",
            )
    names = tuple(dict.fromkeys([*by.supersedes, *heads]))
    kept = tuple(name for name in names if name in heads or name not in old_ids)
    changed = {old.id: _ended(old, by) for old in heads.values()}
    changed[by.id] = replace(by, supersedes=kept)
    return changed


def restored(facts: Mapping[str, Fact], fact_id: str) -> dict[str, Fact]:
    """Return what changes, by id, when a superseded fact is to hold again.

    That is the fact itself, and whatever says that it takes its place.

    Args:
        facts: all of them, by id.
        fact_id: of the fact that was superseded.

    Raises:
        NotFoundError: there is no such fact.
        UsageError: nothing took its place.

    """
    if fact_id not in facts:
        raise _no_such(fact_id)
    fact = facts[fact_id]
    successor = successors_of(facts).get(fact_id)
    if successor is None:
        raise UsageError(
            f"{fact_id} is not superseded.",
            action="`recollect facts list --include-superseded` shows which facts are.",
        )
    changed = {
        other.id: replace(other, supersedes=tuple(n for n in other.supersedes if n != fact_id))
        for other in facts.values()
        if fact_id in other.supersedes and other.scope == fact.scope
    }
    return {fact_id: resumed(fact, after=facts.get(successor)), **changed}


def resumed(fact: Fact, *, after: Fact | None) -> Fact:
    """Return a fact that holds again, as what took its place no longer does.

    An end that it had before its successor began is its own and stays.
    """
    end = fact.valid_until
    if after is not None and end is not None:
        limit = _end_by(fact, after)
        if limit is not None and end < limit:
            return replace(fact, superseded_by="")
    return replace(fact, superseded_by="", valid_until=None)


def withdrawn(fact: Fact, *, now: datetime) -> Fact:
    """Return a fact that no longer holds and that nothing took the place of."""
    end = now if fact.begins is None else max(now, fact.begins)
    return replace(fact, superseded_by=NO_SUCCESSOR, valid_until=_sooner(fact.valid_until, end))


def _chain_if_known(facts: Mapping[str, Fact], fact: Fact) -> tuple[Fact, ...]:
    return chain(facts, fact.id) if fact.id in facts else ()


def _ended(old: Fact, by: Fact) -> Fact:
    end = _sooner(old.valid_until, _end_by(old, by))
    return replace(old, superseded_by=by.id, valid_until=end)


def _end_by(old: Fact, by: Fact) -> datetime | None:
    """Return when a fact ends because another took its place."""
    if by.begins is not None and old.valid_from is not None:
        # A successor may go back further than what it corrects.
        return max(by.begins, old.valid_from)
    return by.begins


def _no_such(fact_id: str) -> NotFoundError:
    return NotFoundError(
        f"There is no fact {fact_id}.", action="`recollect facts list` shows those there are."
    )


def _sooner(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)


def _has_begun(fact: Fact, at: datetime) -> bool:
    return fact.begins is None or fact.begins <= at


def _is_before_end(
    fact: Fact, at: datetime, *, successor: str | None, facts: Mapping[str, Fact]
) -> bool:
    end = fact.valid_until
    if successor is not None:
        by = facts.get(successor)
        end = _sooner(end, by.begins if by else None)
        if end is None:
            return False
    return end is None or at < end
