"""The source of facts: each file of the ledger is a document, each fact a chunk.

The ledger in memory/facts/ is the truth. Each chunk knows who its fact applies to and when, so that
no search finds what it must not. An unchanged ledger is not read again: its files' stats tell.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.facts.history import LONG_AGO, ancestors, successors_of
from recollect.facts.ledger import Ledger
from recollect.ingest import read as reading
from recollect.ingest.source import Taken
from recollect.ingest.walk import Found
from recollect.records import dataclass
from recollect.reports import Failure
from recollect.text.days import local_day
from recollect.text.terms import TERMS_VERSION
from recollect.types import Chunk, FactMark, SourceKind, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from recollect.facts.draft import LedgerState
    from recollect.facts.record import Fact
    from recollect.stores.base import DocumentStore
    from recollect.types import Document, Stat

FACTS_FOLDER = "memory/facts"
_FACTS_VERSION = 3
_RULES = f"f{_FACTS_VERSION}-t{TERMS_VERSION}"
_FLAWED = "!"
"""Ends the recipe of a ledger with unreadable entries: they are reported at every sync."""
_DIGEST_CHARS = 12
_PREVIOUS_VALUES = 8  # most by which a fact can still be found
_TRIES = 5  # how often a file may be saved while it is read


@dataclass(frozen=True, slots=True)
class _LedgerSnapshot:
    """The ledger as it was read."""

    state: LedgerState
    successors: Mapping[str, str]

    def recipe(self, names: Iterable[str]) -> str:
        """Identify the rules, the files, and how facts of one file affect those of another."""
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
        effects = _digest(repr((ended, previous, plain, copied, state.problems)))
        return f"{_RULES}-{effects}-{_named(names)}{_FLAWED if state.problems else ''}"


class FactsSource:
    """The facts of a workspace, one chunk each."""

    kind = SourceKind.FACTS
    is_joint = True  # a fact in one file may end a fact in another

    def __init__(self, workspace: Path, *, store: DocumentStore) -> None:
        """Store the arguments.

        Args:
            workspace: the workspace whose ledger is read.
            store: the index, which tells whether the ledger changed.

        """
        self._workspace = workspace
        self._folder = workspace / FACTS_FOLDER
        self._store = store
        self._names: tuple[str, ...] = ()
        self._stats: dict[str, Stat] = {}
        self._recipe: str | None = None
        self._snapshot: _LedgerSnapshot | None = None

    @property
    def recipe(self) -> str:
        """Identify the rules of indexing, and which fact superseded which.

        A fact in one file may end a fact in another, which then must be read again.
        """
        if self._recipe is None:
            self._recipe = self._read().recipe(self._names)
        return self._recipe

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return the files of the ledger, and the entries that cannot be read."""
        ledger = self._ledger()
        try:
            ledger.check()
        except StoreError as error:
            self._recipe = _RULES
            reason = error.message.removeprefix(f"{self._folder} ").rstrip(".")
            return [], [Failure(FACTS_FOLDER, reason, error.action)]
        self._stats = stats = ledger.stats()
        found = [
            Found(f"{FACTS_FOLDER}/{name}", self._folder / name, self._folder, stat, self.kind)
            for name, stat in stats.items()
        ]
        self._names = (*stats, *ledger.strays())
        self._snapshot = None
        self._recipe = self._stored_recipe(found)
        if self._recipe is not None:
            return found, []
        problems = self._read().state.problems
        failures = [problem.as_failure(folder=FACTS_FOLDER) for problem in problems]
        unusable = {failure.path for failure in failures}
        return [each for each in found if each.path not in unusable], failures

    def has_changed(self) -> bool:
        """Compare sizes and times with those that `find` saw."""
        return self._stats != self._ledger().stats()

    def take(self, found: Found) -> Taken:
        """Read a file's facts.

        Raises:
            UnreadableError: it is gone, or keeps changing.

        """
        for _ in range(_TRIES):
            document = reading.read(found, now_ns=time.time_ns())
            snapshot = self._read()
            if snapshot.state.digests.get(found.file.name) == document.digest:
                return Taken(document, partial(_chunks, snapshot, document))
            self._snapshot = None  # saved since the ledger was read
        raise reading.unreadable(
            found.path, "keeps changing while it is read", "Nothing to do: the next sync reads it."
        )

    def _ledger(self) -> Ledger:
        return Ledger(self._folder, inside=self._workspace)

    def _stored_recipe(self, found: list[Found]) -> str | None:
        """Return the recipe all files were indexed with, if none of them can have changed since."""
        recipe = f"{_RULES}--{_named(())}"
        for each in found:
            known = self._store.known_of(each.path, source=self.kind)
            if known is None or not known.is_settled or known.stat != each.stat:
                return None
            if each is not found[0] and known.recipe != recipe:
                return None
            recipe = known.recipe
        is_current = recipe.startswith(f"{_RULES}-") and recipe.endswith(f"-{_named(self._names)}")
        return recipe if is_current else None

    def _read(self) -> _LedgerSnapshot:
        if self._snapshot is None:
            state = self._ledger().read()
            self._snapshot = _LedgerSnapshot(state, successors_of(state.facts))
            self._recipe = None  # what was just read decides, not what is indexed
        return self._snapshot


def _chunks(snapshot: _LedgerSnapshot, document: Document) -> list[Chunk]:
    return [
        _chunk(fact, snapshot, document)
        for fact in snapshot.state.facts.values()
        if f"{FACTS_FOLDER}/{snapshot.state.places[fact.id].file}" == document.path
    ]


def _chunk(fact: Fact, snapshot: _LedgerSnapshot, document: Document) -> Chunk:
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


def _named(names: Iterable[str]) -> str:
    return _digest("\n".join(names))


def _digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))[:_DIGEST_CHARS]
