"""LedgerState: the content of all pages of the ledger; which facts are valid, which superseded.

Supersession goes by id, never by text: what was withdrawn may be stated again. Either fact may say
it, so that a link that was half written or edited by hand still counts.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.files import FACTS_FOLDER
from recollect.facts.page import Problem
from recollect.facts.record import NO_SUCCESSOR, Fact, derive_id, next_id, normalised_digest
from recollect.records import dataclass
from recollect.text.days import local_day
from recollect.text.tags import declared
from recollect.types import Chunk, FactMark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.facts.page import Page
    from recollect.types import Document

    _Found = tuple[Fact, "Place"]

_DEFAULTS = {each.name: each.default for each in fields(Fact)}
_JOINED = frozenset({"tags", "supersedes"})
_FORGOTTEN = "was forgotten, so it is not read"
_PREVIOUS_VALUES = 8  # most by which a fact can still be found
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for an unknown beginning, or the unknown end of a fact struck out by hand."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact is."""

    file: str
    """Name in the ledger's folder."""
    line: int
    end_line: int
    is_plain: bool
    """True for a bullet without a record: its id is derived from its words."""


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The content of the ledger."""

    facts: Mapping[str, Fact]
    """Facts by id, in the order of files and lines."""
    places: Mapping[str, Place]
    problems: tuple[Problem, ...]
    forgotten: frozenset[str]
    """Digests of normalised texts that extraction must not store again, and ids of facts."""
    copies: Mapping[str, tuple[Place, ...]]
    """Further entries with the id of a fact, combined with it: a merge leaves them."""
    pages: Mapping[str, Page]
    unusable: Mapping[str, Problem]
    """Files that cannot be read, by path in the folder."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each page's file."""

    @property
    def effects(self) -> str:
        """How facts of one file affect those of another."""
        ended = [
            (old, by, str(self.facts[by].begins) if by in self.facts else "")
            for old, by in sorted(successors_of(self.facts).items())
        ]
        previous = [
            (fact.id, _previous_values(fact, self.facts))
            for fact in self.facts.values()
            if fact.supersedes
        ]
        # The id of a bullet without a record depends on equal bullets in earlier files.
        plain = [name for name, place in self.places.items() if place.is_plain]
        copied = [self.facts[name] for name in self.copies]
        return repr((ended, previous, plain, copied, self.problems))

    def chunks(self, document: Document) -> list[Chunk]:
        """Return the facts of one file."""
        successors = successors_of(self.facts)
        return [
            self._chunk(fact, document, successor=successors.get(fact.id, ""))
            for fact in self.facts.values()
            if f"{FACTS_FOLDER}/{self.places[fact.id].file}" == document.path
        ]

    def _chunk(self, fact: Fact, document: Document, *, successor: str) -> Chunk:
        place = self.places[fact.id]
        about = (fact.category, fact.entity, fact.key, _previous_values(fact, self.facts))
        return Chunk(
            path=document.path,
            source=document.source,
            start_line=place.line,
            end_line=place.end_line,
            text=fact.text,
            heading=tuple(each for each in about if each),
            prefix=" ".join(each for each in (fact.entity, fact.key) if each),
            when=local_day(fact.begins) if fact.begins else None,
            triggers=declared(fact.tags),
            fact=FactMark(
                id=fact.id,
                scope=fact.scope,
                since=fact.begins,
                until=end_of(fact, self.facts, successor=successor),
                superseded_by=successor,
            ),
        )


def state_of(
    pages: Mapping[str, Page],
    *,
    unusable: Mapping[str, Problem],
    forgotten: frozenset[str],
    digests: Mapping[str, str],
) -> LedgerState:
    """Return the content of all pages; entries with one id are combined if they can be."""
    problems = list(unusable.values())
    entries: dict[str, list[_Found]] = {}
    for name, page in pages.items():
        problems += page.problems
        for entry in page.entries:
            fact = entry.fact
            place = Place(name, entry.first + 1, entry.end, is_plain=not entry.has_record)
            if fact.id in forgotten and not place.is_plain:
                action = f"if you want it back, remove {fact.id} from memory/facts/.forgotten."
                problems.append(Problem(name, place.line, _FORGOTTEN, f"Remove the line; {action}"))
            else:
                entries.setdefault(fact.id, []).append((fact, place))
    facts: dict[str, Fact] = {}
    places: dict[str, Place] = {}
    copies: dict[str, tuple[Place, ...]] = {}
    for found in entries.values():
        for statement in _statements(found):
            (fact, place), *others = statement
            for other, copy in others:
                fact, differing = merged(fact, other)
                problems += [_repeated(copy, first=place, differing=differing)] if differing else []
            if fact.id in facts:
                problems.append(_repeated(place, first=places[fact.id]))
                fact = renamed(fact)
                while fact.id in facts or fact.id in entries:
                    fact = replace(fact, id=next_id(fact.id))
            facts[fact.id], places[fact.id] = fact, place
            if others:
                copies[fact.id] = tuple(copy for _, copy in others)
    problems += _broken_chains(facts, places)
    return LedgerState(
        MappingProxyType(facts),
        MappingProxyType(places),
        tuple(sorted(problems, key=lambda problem: (problem.file, problem.line))),
        forgotten,
        copies,
        pages,
        unusable,
        digests,
    )


def _statements(found: list[_Found]) -> list[list[_Found]]:
    """Return the entries of one id by text and scope, first the superseded, which keep it."""
    if len(found) == 1:
        return [found]
    statements: dict[tuple[str, str], list[_Found]] = {}
    for fact, place in found:
        statements.setdefault((fact.text, fact.scope), []).append((fact, place))
    return sorted(
        statements.values(), key=lambda each: not any(fact.superseded_by for fact, _ in each)
    )


def _previous_values(fact: Fact, facts: Mapping[str, Fact]) -> str:
    """Return the values that a fact replaced: a search for an old one must find the new fact."""
    if not fact.supersedes or fact.is_superseded:
        return ""
    previous = (each.value for each in ancestors(fact, facts))
    values = [each for each in dict.fromkeys(previous) if each not in {"", fact.value}]
    return f"formerly {', '.join(values[-_PREVIOUS_VALUES:])}" if values else ""


def forgotten_lines(fact: Fact) -> tuple[str, str]:
    """Return what may be kept of a forgotten fact: the digest of its text, and its id."""
    return normalised_digest(fact.text), fact.id


def _broken_chains(facts: Mapping[str, Fact], places: Mapping[str, Place]) -> list[Problem]:
    """Return the superseded facts that a person's edits left without a valid successor."""
    reasons = {
        fact.id: f"is superseded by {fact.superseded_by}, which does not exist: neither is valid"
        for fact in orphans(facts)
    } | {
        cycle[0]: f"and {', '.join(cycle[1:])} supersede each other: none of them is valid"
        for cycle in cycles(facts)
    }
    return [
        Problem(
            places[fact_id].file,
            places[fact_id].line,
            reason,
            f"`recollect facts supersede --undo {fact_id}` makes it valid again.",
        )
        for fact_id, reason in reasons.items()
    ]


def _repeated(place: Place, *, first: Place, differing: tuple[str, ...] = ()) -> Problem:
    ignored = f"another {', '.join(differing)}, which is ignored"
    what = ignored if differing else "a different text; both are kept"
    return Problem(
        place.file,
        place.line,
        f"has the id of {first.file}:{first.line} but {what}",
        "Remove one of them, or the comment of the newer one.",
    )


def merged(one: Fact, other: Fact) -> tuple[Fact, tuple[str, ...]]:
    """Return two facts of one id as one, with what either added, and where the first one won."""
    differing: list[str] = []
    taken: dict[str, object] = {}
    for name, usual in _DEFAULTS.items():
        own, given = getattr(one, name), getattr(other, name)
        if own == given:
            continue
        if name in _JOINED:
            taken[name] = tuple(dict.fromkeys([*own, *given]))
        elif own in {usual, NO_SUCCESSOR} and given != usual:
            taken[name] = given
        elif name == "valid_until" and None not in {own, given}:
            taken[name] = min(own, given)
        elif name != "superseded_by" and given != usual:
            differing.append(name)  # both successors stand: contradictions are told apart from this
    try:
        return replace(one, **taken), tuple(differing)  # type: ignore[arg-type] # fields of a Fact
    except UsageError:  # together they end before they begin
        return one, (*differing, *taken)


def renamed(fact: Fact) -> Fact:
    """Return a statement with a new id, because its own is already taken."""
    return replace(fact, id=derive_id(f"{fact.id} {fact.scope} {fact.text}"))


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
