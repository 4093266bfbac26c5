"""Draft: changes to the ledger, collected in memory to be written together.

It knows pages, not files, and no clock.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from recollect.errors import StoreError, UsageError
from recollect.facts.history import cycles, no_such_fact, orphans
from recollect.facts.page import BulletIds, Page, Problem, edited, parse_page
from recollect.facts.record import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    NO_SUCCESSOR,
    Fact,
    derive_id,
    next_id,
    normalised_digest,
)
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


MAX_FILE_FACTS = 1000
"""About 250 kB, which editors and diffs handle well; then the category gets another file."""


_DEFAULTS = {each.name: each.default for each in fields(Fact)}
_JOINED = frozenset({"tags", "supersedes"})


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
    copies: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    """Further entries with the id of a fact, combined with it: a merge leaves them."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each file's content, if files were read."""


def state_of(
    pages: Mapping[str, Page], *, unusable: Mapping[str, Problem], forgotten: frozenset[str]
) -> LedgerState:
    """Return the content of all pages; entries with one id are combined if they can be."""
    collected = _Collected(forgotten)
    problems = list(unusable.values())
    for name, page in pages.items():
        problems += page.problems
        for placed in page.entries:
            place = Place(name, placed.first + 1, placed.end, is_plain=not placed.entry.has_record)
            problems += collected.add(placed.entry.fact, place)
    facts, places = collected.facts, collected.places
    problems += _broken_chains(facts, places)
    return LedgerState(
        MappingProxyType(facts),
        MappingProxyType(places),
        tuple(sorted(problems, key=lambda problem: (problem.file, problem.line))),
        forgotten,
        {fact_id: tuple(found) for fact_id, found in collected.copies.items()},
    )


class _Collected:
    """The facts of the entries read so far."""

    def __init__(self, forgotten: frozenset[str]) -> None:
        self.facts: dict[str, Fact] = {}
        self.places: dict[str, Place] = {}
        self.copies: dict[str, list[Place]] = {}
        self._forgotten = forgotten

    def add(self, fact: Fact, place: Place) -> list[Problem]:
        """Take in the fact of an entry; return what is wrong with it."""
        if fact.id in self._forgotten and not place.is_plain:
            return [Problem(place.file, place.line, *_forgotten(fact.id))]
        if fact.id not in self.facts:
            self.facts[fact.id], self.places[fact.id] = fact, place
            return []
        first = self.places[fact.id]
        both = merged(self.facts[fact.id], fact)
        if both is None:
            self._add_other(fact, place)
            return [_repeated(place, first=first)]
        self.facts[fact.id], differing = both
        self.copies.setdefault(fact.id, []).append(place)
        return [_repeated(place, first=first, differing=differing)] if differing else []

    def _add_other(self, fact: Fact, place: Place) -> None:
        """Take in a fact whose id another statement has.

        The superseded one keeps the id, by which its successor names it: the other is valid.
        """
        known = self.facts[fact.id]
        copies: list[Place] = []
        if fact.superseded_by and not known.superseded_by:
            copies = self.copies.pop(fact.id, [])
            place, self.places[fact.id] = self.places[fact.id], place
            fact, self.facts[fact.id] = known, fact
        other = renamed(fact)
        while other.id in self.facts:
            other = replace(other, id=next_id(other.id))
        self.facts[other.id], self.places[other.id] = other, place
        if copies:
            self.copies[other.id] = copies


class Draft:
    """Changes to the ledger that are not written yet."""

    def __init__(
        self,
        pages: Mapping[str, Page],
        *,
        unusable: Mapping[str, Problem],
        forgotten: frozenset[str],
    ) -> None:
        self.state = state_of(pages, unusable=unusable, forgotten=forgotten)
        self._pages = pages
        self._unusable = unusable
        self._names = {name.lower(): name for name in (*pages, *unusable)}
        self._counts = Counter({name: len(page.entries) for name, page in pages.items()})
        self._facts = dict(self.state.facts)
        self._added: dict[str, str] = {}  # file by id
        self._changed: dict[str, Fact | None] = {}
        self._forgotten: dict[str, None] = {}

    @property
    def facts(self) -> Mapping[str, Fact]:
        """All facts with the changes applied, by id."""
        return MappingProxyType(self._facts)

    @property
    def forgotten(self) -> tuple[str, ...]:
        """Digests and ids of the facts to forget, besides those already forgotten."""
        return tuple(self._forgotten)

    def fact(self, fact_id: str) -> Fact:
        """Return a fact with the changes applied; raise NotFoundError if there is none."""
        if fact_id not in self._facts:
            raise no_such_fact(fact_id)
        return self._facts[fact_id]

    def add(self, fact: Fact) -> Fact:
        """Add a fact and return it, with another id if its own is taken."""
        while fact.id in self._facts or fact.id in self.state.forgotten:
            fact = replace(fact, id=next_id(fact.id))
        self._added[fact.id] = self._file_for(fact)
        self._facts[fact.id] = fact
        return fact

    def put(self, fact: Fact) -> Fact:
        """Replace the stored fact with the same id, and return the new one."""
        if fact != self.fact(fact.id):
            self._facts[fact.id] = fact
            if fact.id not in self._added:
                self._changed[fact.id] = fact
        return fact

    def remove(self, fact_id: str) -> Fact:
        """Remove a fact and return it."""
        fact = self.fact(fact_id)
        del self._facts[fact_id]
        if self._added.pop(fact_id, None) is None:
            self._changed[fact_id] = None
        return fact

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good: later extraction cannot bring it back."""
        place = self.state.places.get(fact_id)
        fact = self.remove(fact_id)
        digest, own_id = forgotten_lines(fact)
        # A merge may bring back the line of a fact that has its id there.
        has_id = place is not None and not place.is_plain
        self.note_forgotten([digest, own_id] if has_id else [digest])
        return fact

    def note_forgotten(self, lines: Iterable[str]) -> None:
        """Have digests and ids kept as those of forgotten facts."""
        self._forgotten.update(dict.fromkeys(lines))

    def texts(self) -> dict[str, str]:
        """Return the new text of every changed file: first additions, last removals.

        If the process dies in between, all of it counts as done or nothing does: a successor names
        what it supersedes, so its own line decides.
        """
        added: dict[str, list[Fact]] = {}
        for fact_id, name in self._added.items():
            added.setdefault(name, []).append(self._facts[fact_id])
        changed: dict[str, dict[int, Fact | None]] = {}
        for fact_id, fact in self._changed.items():
            place = self.state.places[fact_id]
            changed.setdefault(place.file, {})[place.line - 1] = fact
            for copy in self.state.copies.get(fact_id, ()):
                changed.setdefault(copy.file, {})[copy.line - 1] = None

        def removes(name: str) -> bool:
            return None in changed[name].values()

        return {
            name: edited(
                self._pages.get(name) or _empty(name),
                changed=changed.get(name, {}),
                added=added.get(name, ()),
            )
            for name in dict.fromkeys([*added, *sorted(changed, key=removes)])
        }

    def _file_for(self, fact: Fact) -> str:
        stem = fact.category if fact.category in CATEGORIES else DEFAULT_CATEGORY
        part = 1
        while True:
            wanted = f"{stem}.md" if part == 1 else f"{stem}-{part}.md"
            name = self._names.get(wanted, wanted)  # on some systems both spellings are one file
            if name in self._unusable:
                problem = self._unusable[name]
                raise StoreError(f"{name} {problem.reason}.", action=problem.action)
            if self._counts[name] < MAX_FILE_FACTS:
                self._counts[name] += 1
                return name
            part += 1


def forgotten_lines(fact: Fact) -> tuple[str, str]:
    """Return what may be kept of a forgotten fact: the digest of its text, and its id."""
    return normalised_digest(fact.text), fact.id


def _empty(name: str) -> Page:
    return parse_page(name, "", derive=BulletIds())


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


def _forgotten(fact_id: str) -> tuple[str, str]:
    return (
        "was forgotten, so it is not read",
        f"Remove the line; if you want it back, remove {fact_id} from memory/facts/.forgotten.",
    )


def merged(one: Fact, other: Fact) -> tuple[Fact, tuple[str, ...]] | None:
    """Return the combination of two facts with one id, and where only the first one counts.

    A merge leaves both of a fact that one side changed. Which side is newer is unknown, so what
    either side added counts: a successor, a detail, a tag. None if words or scope differ: they are
    two statements, and none of them may be lost.
    """
    if (one.text, one.scope) != (other.text, other.scope):
        return None
    differing: list[str] = []
    taken: dict[str, object] = {}
    for name, own, given in _differences(one, other):
        if name in _JOINED:
            taken[name] = tuple(dict.fromkeys([*own, *given]))  # type: ignore[misc] # both tuples
        elif own in {_DEFAULTS[name], NO_SUCCESSOR} and given != _DEFAULTS[name]:
            taken[name] = given
        elif name == "valid_until" and None not in {own, given}:
            taken[name] = min(own, given)  # type: ignore[call-overload] # both moments
        elif name != "superseded_by" and given != _DEFAULTS[name]:
            differing.append(name)  # both successors stand: contradictions are told apart from this
    try:
        return replace(one, **taken), tuple(differing)  # type: ignore[arg-type] # fields of a Fact
    except UsageError:  # together they end before they begin
        return one, (*differing, *taken)


def renamed(fact: Fact) -> Fact:
    """Return a statement with a new id, because its own is already taken."""
    return replace(fact, id=derive_id(f"{fact.id} {fact.scope} {fact.text}"))


def _differences(one: Fact, other: Fact) -> Iterator[tuple[str, object, object]]:
    for name in _DEFAULTS:
        own, given = getattr(one, name), getattr(other, name)
        if own != given:
            yield name, own, given
