"""The ledger as it was read: its chunks, and how facts of one file affect those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.facts.folder import FACTS_FOLDER
from recollect.facts.history import LONG_AGO, ancestors, successors_of
from recollect.records import dataclass
from recollect.text.days import local_day
from recollect.text.tags import declared
from recollect.types import Chunk, FactMark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.facts.draft import LedgerState
    from recollect.facts.ledger import Ledger
    from recollect.facts.record import Fact
    from recollect.types import Document

_PREVIOUS_VALUES = 8  # most by which a fact can still be found


@dataclass(frozen=True, slots=True)
class LedgerSnapshot:
    """The facts of a ledger at one moment."""

    state: LedgerState
    successors: Mapping[str, str]

    @classmethod
    def of(cls, ledger: Ledger) -> LedgerSnapshot:
        """Read a ledger."""
        state = ledger.read()
        return cls(state, successors_of(state.facts))

    @property
    def effects(self) -> str:
        """How facts of one file affect those of another."""
        state = self.state
        ended = [
            (old, by, str(state.facts[by].begins) if by in state.facts else "")
            for old, by in sorted(self.successors.items())
        ]
        previous = [
            (fact.id, _previous_values(fact, state.facts))
            for fact in state.facts.values()
            if fact.supersedes
        ]
        # The id of a bullet without a record depends on equal bullets in earlier files.
        plain = [name for name, place in state.places.items() if place.is_plain]
        copied = [state.facts[name] for name in state.copies]
        return repr((ended, previous, plain, copied, state.problems))

    def chunks(self, document: Document) -> list[Chunk]:
        """Return the facts of one file."""
        return [
            _chunk(fact, self, document)
            for fact in self.state.facts.values()
            if f"{FACTS_FOLDER}/{self.state.places[fact.id].file}" == document.path
        ]


def _chunk(fact: Fact, snapshot: LedgerSnapshot, document: Document) -> Chunk:
    facts, place = snapshot.state.facts, snapshot.state.places[fact.id]
    about = (fact.category, fact.entity, fact.key, _previous_values(fact, facts))
    begins = fact.begins
    return Chunk(
        path=document.path,
        source=document.source,
        start_line=place.line,
        end_line=place.end_line,
        text=fact.text,
        heading=tuple(each for each in about if each),
        prefix=" ".join(each for each in (fact.entity, fact.key) if each),
        when=local_day(begins) if begins else None,
        triggers=declared(fact.tags),
        fact=mark_of(fact, facts, successor=snapshot.successors.get(fact.id, "")),
    )


def mark_of(fact: Fact, facts: Mapping[str, Fact], *, successor: str) -> FactMark:
    """Return who a fact applies to and when, which every leg filters by."""
    ends = [each for each in (fact.valid_until, fact.expires) if each is not None]
    if successor:
        by = facts.get(successor)
        begins = by.begins if by else None
        if begins is not None or fact.valid_until is None:
            ends.append(begins or LONG_AGO)
    return FactMark(
        id=fact.id,
        scope=str(fact.scope),
        since=fact.begins,
        until=min(ends, default=None),
        superseded_by=successor,
    )


def _previous_values(fact: Fact, facts: Mapping[str, Fact]) -> str:
    """Return the values that a fact replaced, as part of its heading.

    A search for an old value must find the new fact.
    """
    if not fact.supersedes or fact.is_superseded:
        return ""
    previous = (each.value for each in ancestors(fact, facts))
    values = [each for each in dict.fromkeys(previous) if each not in {"", fact.value}]
    return f"formerly {', '.join(values[-_PREVIOUS_VALUES:])}" if values else ""
