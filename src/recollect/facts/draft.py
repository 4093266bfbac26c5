"""What is to become of the ledger: changes gathered against what it holds, to be written at once.

It knows pages, not files, and no clock.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, StoreError, UsageError
from recollect.facts.history import circles, orphans
from recollect.facts.identity import derived, following, normalised_digest
from recollect.facts.page import Page, Problem, edited, parse_page
from recollect.facts.record import CATEGORIES, DEFAULT_CATEGORY
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.facts.page import Placed
    from recollect.facts.record import Fact

MAX_FILE_FACTS = 1000
"""About 250 kB, which editors and diffs still show at ease; then the category gets a next file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fact stands."""

    file: str
    """Name in the ledger's folder."""
    line: int
    end_line: int
    is_plain: bool
    """True for a bullet without a record: its id is that of its words."""


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What the ledger holds."""

    facts: Mapping[str, Fact]
    """By id, in the order of files and lines."""
    places: Mapping[str, Place]
    problems: tuple[Problem, ...]
    forgotten: frozenset[str]
    """Digests of normalised texts that are not to be learned again from what is extracted."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the content of each file, where they were read."""


class Naming:
    """Gives plain bullets their ids: the same words the same one, a repetition the next."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """Return the id of the next plain bullet with this text."""
        words = normalised(text)
        ordinal = self._seen.get(words, 0)
        self._seen[words] = ordinal + 1
        return derived(text, ordinal=ordinal)


def state_of(
    pages: Mapping[str, Page], *, unusable: Mapping[str, Problem], forgotten: frozenset[str]
) -> LedgerState:
    """Return what pages hold; where an id stands twice, the first one counts."""
    facts: dict[str, Fact] = {}
    places: dict[str, Place] = {}
    problems = list(unusable.values())
    for name, page in pages.items():
        problems += page.problems
        for placed in page.entries:
            fact = placed.entry.fact
            if fact.id in facts:
                problems.append(_repeated(name, placed, first=places[fact.id]))
                continue
            facts[fact.id] = fact
            places[fact.id] = Place(
                name, placed.first + 1, placed.end, is_plain=not placed.entry.has_record
            )
    problems += _broken_chains(facts, places)
    ordered = sorted(problems, key=lambda problem: (problem.file, problem.line))
    return LedgerState(MappingProxyType(facts), MappingProxyType(places), tuple(ordered), forgotten)


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
        """The facts as they will be, by id."""
        return MappingProxyType(self._facts)

    @property
    def forgotten(self) -> tuple[str, ...]:
        """Digests of what is to be forgotten for good, beyond those that already are."""
        return tuple(self._forgotten)

    def fact(self, fact_id: str) -> Fact:
        """Return a fact as it will be.

        Raises:
            NotFoundError: there is no such fact.

        """
        if fact_id not in self._facts:
            raise NotFoundError(
                f"There is no fact {fact_id}.", action="recollect facts list shows those there are."
            )
        return self._facts[fact_id]

    def add(self, fact: Fact) -> Fact:
        """Add a fact and return it as it will stand: with another id if its own is taken."""
        while fact.id in self._facts:
            fact = replace(fact, id=following(fact.id))
        self._added[fact.id] = self._file_for(fact)
        self._facts[fact.id] = fact
        return fact

    def change(self, fact_id: str, alter: Callable[[Fact], Fact]) -> Fact:
        """Change a fact in its place and return it.

        Raises:
            NotFoundError: there is no such fact.
            UsageError: the change would give it another id.

        """
        fact = alter(self.fact(fact_id))
        if fact.id != fact_id:
            raise UsageError(f"{fact_id} cannot become {fact.id}.", action="Add another fact.")
        return self.put(fact)

    def put(self, fact: Fact) -> Fact:
        """Put a fact in the place of the one with its id, and return it.

        Raises:
            NotFoundError: there is none with its id.

        """
        if fact != self.fact(fact.id):
            self._facts[fact.id] = fact
            if fact.id not in self._added:
                self._changed[fact.id] = fact
        return fact

    def remove(self, fact_id: str) -> Fact:
        """Remove a fact and return what it was.

        Raises:
            NotFoundError: there is no such fact.

        """
        fact = self.fact(fact_id)
        del self._facts[fact_id]
        if self._added.pop(fact_id, None) is None:
            self._changed[fact_id] = None
        return fact

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good: what is extracted from files later cannot bring it back.

        Raises:
            NotFoundError: there is no such fact.

        """
        fact = self.remove(fact_id)
        self._forgotten[normalised_digest(fact.text)] = None
        return fact

    def texts(self) -> dict[str, str]:
        """Return the new text of every file that changes: those with additions first.

        Should the process die in between, a successor is there that names what it supersedes.
        """
        added: dict[str, list[Fact]] = {}
        for fact_id, name in self._added.items():
            added.setdefault(name, []).append(self._facts[fact_id])
        changed: dict[str, dict[int, Fact | None]] = {}
        for fact_id, fact in self._changed.items():
            place = self.state.places[fact_id]
            changed.setdefault(place.file, {})[place.line - 1] = fact
        return {
            name: edited(
                self._pages.get(name) or _empty(name),
                changed=changed.get(name, {}),
                added=added.get(name, ()),
            )
            for name in dict.fromkeys([*added, *changed])
        }

    def _file_for(self, fact: Fact) -> str:
        stem = fact.category if fact.category in CATEGORIES else DEFAULT_CATEGORY
        part = 1
        while True:
            wanted = f"{stem}.md" if part == 1 else f"{stem}-{part}.md"
            name = self._names.get(wanted, wanted)  # some systems take both spellings for one file
            if name in self._unusable:
                problem = self._unusable[name]
                raise StoreError(f"{name} {problem.reason}.", action=problem.action)
            if self._counts[name] < MAX_FILE_FACTS:
                self._counts[name] += 1
                return name
            part += 1


def _empty(name: str) -> Page:
    return parse_page(name, "", derive=Naming())


def _broken_chains(facts: Mapping[str, Fact], places: Mapping[str, Place]) -> list[Problem]:
    """Return what a person's edits left superseded with nothing that holds in its place."""
    reasons = {
        fact.id: f"is superseded by {fact.superseded_by}, which is not there: neither holds"
        for fact in orphans(facts)
    } | {
        circle[0]: f"and {', '.join(circle[1:])} supersede each other: none of them holds"
        for circle in circles(facts)
    }
    return [
        Problem(
            places[fact_id].file,
            places[fact_id].line,
            reason,
            f"`recollect facts supersede --undo {fact_id}` lets it hold again.",
        )
        for fact_id, reason in reasons.items()
    ]


def _repeated(name: str, placed: Placed, *, first: Place) -> Problem:
    return Problem(
        name,
        placed.first + 1,
        f"has the id of {first.file}:{first.line}, which counts",
        "Remove one of them, or the comment of the one that is new.",
    )
