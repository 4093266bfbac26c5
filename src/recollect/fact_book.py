"""Facts as a source and as a book to write in: the ledger joined with the index.

The ledger in memory/facts/ is the truth. What is indexed of it knows for whom each fact holds and
from when to when, so that no search can find what it must not.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.facts.decay import DecayClass, classify_decay, expiry, prune_plan
from recollect.facts.history import active, chain, successors_of
from recollect.facts.identity import CHANCE_BITS, minted, parse_id
from recollect.facts.ledger import Ledger
from recollect.facts.record import CONFIDENCES, EXPLICIT, Fact, Provenance, category_of, tags_of
from recollect.facts.remember import remember, supersede
from recollect.facts.scope import FactScope, narrowed
from recollect.facts.transfer import exported, import_plan, imported
from recollect.ingest.read import read
from recollect.ingest.source import Taken
from recollect.ingest.walk import Found
from recollect.reports import Failure
from recollect.text.terms import TERMS_VERSION
from recollect.types import GLOBAL, Chunk, FactMark, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from recollect.facts.decay import Pruned
    from recollect.facts.draft import Draft, LedgerState
    from recollect.facts.remember import Remembered
    from recollect.facts.rules import Nearest
    from recollect.facts.transfer import ImportPlan
    from recollect.types import Document

FACTS_FOLDER = "memory/facts"
_FACTS_VERSION = 1
_FORMER_VALUES = 8  # of one fact that it can still be found by
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)  # when what was struck out by hand ended


class FactsSource:
    """The facts of a workspace, a chunk each."""

    kind = SourceKind.FACTS

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._state: LedgerState | None = None

    @property
    def recipe(self) -> str:
        """Return the identity of the rules, and of who superseded whom.

        A fact in one file may end a fact in another, which then has to be read again.
        """
        state = self._read()
        pairs = repr(sorted(successors_of(state.facts).items()))
        begun = repr(sorted((fact.id, str(fact.begins)) for fact in state.facts.values()))
        return f"f{_FACTS_VERSION}-t{TERMS_VERSION}-{digest_of((pairs + begun).encode())[:12]}"

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return the files of the ledger, and entries that cannot be read."""
        self._state = None
        state = self._read()
        names = sorted({place.file for place in state.places.values()})
        found = []
        for name in names:
            file = self._workspace / FACTS_FOLDER / name
            try:
                status = file.stat()
            except OSError:
                continue  # gone since the ledger was read: the next sync sees it
            stat = Stat(status.st_size, status.st_mtime_ns)
            found.append(Found(f"{FACTS_FOLDER}/{name}", file, stat, self.kind))
        failures = [
            Failure(f"{FACTS_FOLDER}/{each.file}:{each.line}", each.reason, each.action)
            for each in state.problems
        ]
        return found, failures

    def take(self, found: Found) -> Taken:
        """Read a file's facts."""
        document = read(found, now_ns=time.time_ns())
        state = self._read()
        successors = successors_of(state.facts)
        chunks = [
            self._chunk(fact, state, document, successor=successors.get(fact.id, ""))
            for fact in state.facts.values()
            if f"{FACTS_FOLDER}/{state.places[fact.id].file}" == document.path
        ]
        return Taken(document, lambda: chunks)

    def _chunk(
        self, fact: Fact, state: LedgerState, document: Document, *, successor: str
    ) -> Chunk:
        place = state.places[fact.id]
        about = (fact.category, fact.entity, fact.key, _formerly(fact, state.facts))
        begins = fact.begins
        return Chunk(
            path=document.path,
            source=self.kind,
            start_line=place.line,
            end_line=place.end_line,
            text=fact.text,
            heading=tuple(each for each in about if each),
            prefix=" ".join(each for each in (fact.entity, fact.key) if each),
            when=begins.astimezone().date() if begins else None,
            fact=mark_of(fact, state.facts, successor=successor),
        )

    def _read(self) -> LedgerState:
        if self._state is None:
            self._state = Ledger(self._workspace / FACTS_FOLDER).read()
        return self._state


def audience_of(asked: Iterable[str], *, allowed: frozenset[str] | None) -> frozenset[str]:
    """Return the scopes a search sees: the global one, and those asked for that are allowed.

    Raises:
        UsageError: what is asked for is no scope.

    """
    held = None if allowed is None else frozenset(map(FactScope.parse, allowed))
    seen = narrowed(held, [FactScope.parse(each) for each in asked]) or frozenset()
    return frozenset({GLOBAL, *map(str, seen)})


def _formerly(fact: Fact, facts: Mapping[str, Fact]) -> str:
    """Return the values that a fact took the place of.

    Whoever asks with the old value has to find the new one: they are searched like a heading.
    """
    if not fact.supersedes or fact.is_superseded:
        return ""
    values = [each.value for each in _ancestors(fact, facts) if each.value]
    return f"formerly {', '.join(values[-_FORMER_VALUES:])}" if values else ""


def _ancestors(fact: Fact, facts: Mapping[str, Fact]) -> list[Fact]:
    """Return what a fact took the place of, and what that did, oldest first."""
    found: dict[str, Fact] = {}
    waiting = list(fact.supersedes)
    while waiting:
        older = facts.get(waiting.pop())
        if older is not None and older.id not in found and older.id != fact.id:
            found[older.id] = older
            waiting += older.supersedes
    return sorted(found.values(), key=lambda each: (each.begins or _LONG_AGO, each.id))


def mark_of(fact: Fact, facts: Mapping[str, Fact], *, successor: str) -> FactMark:
    """Return for whom and when a fact holds, as every leg has to know it."""
    ends = [each for each in (fact.valid_until, fact.expires) if each is not None]
    if successor and not ends:
        by = facts.get(successor)
        ends.append((by.begins if by else None) or _LONG_AGO)
    return FactMark(
        id=fact.id,
        scope=str(fact.scope),
        since=fact.begins,
        until=min(ends, default=None),
        superseded_by=successor,
    )


class FactBook:
    """Writes facts down and looks them up; the ledger is locked while it is written."""

    def __init__(
        self,
        workspace: Path,
        *,
        nearest: Callable[[Fact], Nearest | None],
        now: Callable[[], datetime],
    ) -> None:
        """Store the parts.

        Args:
            workspace: whose facts.
            nearest: finds the stored fact whose vector is nearest.
            now: tells the time.

        """
        self._ledger = Ledger(workspace / FACTS_FOLDER)
        self._nearest = nearest
        self._now = now

    def remember(  # noqa: PLR0913 - what can be said of a fact
        self,
        text: str,
        *,
        category: str = "other",
        entity: str = "",
        key: str = "",
        value: str = "",
        tags: Iterable[str] = (),
        scope: str = "global",
        valid_from: datetime | None = None,
        supersedes: Iterable[str] = (),
        provenance: Provenance = Provenance.OWNER,
        source: str = "",
    ) -> Remembered:
        """Write a fact down, or find that it is known, and say which.

        Raises:
            UsageError: it is no fact: no text, an unknown category, no such scope.
            NotFoundError: what it supersedes does not exist.
            StoreError: the ledger cannot be written.

        """
        now = self._now()
        decay = classify_decay(text, entity=entity, key=key)
        if decay is DecayClass.STABLE and provenance in EXPLICIT:
            decay = DecayClass.PERMANENT  # said on purpose: kept until somebody says otherwise
        fact = Fact(
            id=minted(now, chance=secrets.randbits(CHANCE_BITS)),
            text=text.strip(),
            category=category_of(category),
            entity=entity,
            key=key,
            value=value,
            tags=tags_of(tags),
            scope=FactScope.parse(scope),
            decay=decay,
            confidence=CONFIDENCES[provenance],
            valid_from=valid_from,
            expires=expiry(decay, since=max(now, valid_from or now)),
            supersedes=tuple(map(parse_id, supersedes)),
            provenance=provenance,
            source=source,
            created=now,
        )
        nearest = self._nearest(fact)
        return self._ledger.edit(lambda draft: remember(draft, fact, now=now, nearest=nearest))

    def all(
        self,
        *,
        scopes: frozenset[str] | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Fact]:
        """Return the facts that hold; `scopes` None is the owner, who sees all of them."""
        facts = active(
            self._ledger.read().facts,
            now=self._now(),
            as_of=as_of,
            include_superseded=include_superseded,
        )
        return [fact for fact in facts if scopes is None or str(fact.scope) in scopes]

    def history(self, fact_id: str) -> tuple[Fact, ...]:
        """Return a fact with all that it superseded and was superseded by, oldest first.

        Raises:
            NotFoundError: there is no such fact.

        """
        facts = self._ledger.read().facts
        wanted = parse_id(fact_id)
        if wanted not in facts:
            raise _no_such(fact_id)
        after = chain(facts, wanted)
        before = [each for each in _ancestors(facts[wanted], facts) if each not in after]
        return (*before, *after)

    def supersede(self, old_id: str, *, by: str) -> Fact:
        """Mark a fact as superseded by another that is written down; return the latter."""
        old, new = parse_id(old_id), parse_id(by)
        return self._ledger.edit(lambda draft: supersede(draft, old, by_id=new))

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good; nothing that is extracted brings it back.

        What it had taken the place of holds again.
        """
        wanted = parse_id(fact_id)

        def work(draft: Draft) -> Fact:
            forgotten = draft.forget(wanted)
            for fact in list(draft.facts.values()):
                if fact.superseded_by == wanted:
                    draft.put(replace(fact, superseded_by="", valid_until=None))
            return forgotten

        return self._ledger.edit(work)

    def prune(self, *, dry_run: bool) -> tuple[Pruned, ...]:
        """Remove what expired or faded; a dry run only says what would go, and why."""
        now = self._now()
        if dry_run:
            return prune_plan(self._ledger.read().facts.values(), now=now)

        def work(draft: Draft) -> tuple[Pruned, ...]:
            plan = prune_plan(draft.facts.values(), now=now)
            for each in plan:
                draft.remove(each.fact.id)
            return plan

        return self._ledger.edit(work)

    def export(self) -> list[str]:
        """Return every fact as a line of JSON."""
        return list(exported(self._ledger.read().facts.values()))

    def bring(self, lines: Iterable[str]) -> ImportPlan:
        """Write down exported facts that are not known yet; return what became of each.

        Raises:
            UsageError: a line is not a fact; nothing was written.

        """
        given = imported(lines)
        now = self._now()

        def work(draft: Draft) -> ImportPlan:
            plan = import_plan(given, draft.facts, now=now)
            for fact in plan.added:
                draft.add(fact)
            return plan

        return self._ledger.edit(work)


def _no_such(fact_id: str) -> NotFoundError:
    return NotFoundError(
        f"There is no fact {fact_id}.", action="`recollect facts list` shows their ids."
    )
