"""Facts as a book to write in and to look things up in, and who may see which."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from recollect.errors import ProviderError, UsageError
from recollect.facts.decay import Ending, classify_decay, ending_of_said, expiry, prune_plan
from recollect.facts.history import active, lineage
from recollect.facts.identity import CHANCE_BITS, minted, parse_id
from recollect.facts.ledger import Ledger
from recollect.facts.listing import listed, unreadable
from recollect.facts.record import (
    CONFIDENCES,
    EXPLICIT,
    MOST_FACT_CHARS,
    Fact,
    Provenance,
    category_of,
    tags_of,
)
from recollect.facts.remember import forget, prune, remember, restore, supersede
from recollect.facts.rules import Nearest, Verdict, contradicting
from recollect.facts.scope import FactScope, narrowed
from recollect.facts.source import FACTS_FOLDER
from recollect.facts.transfer import exported, import_plan, imported
from recollect.text.redact import redact
from recollect.types import GLOBAL, Role, Scope, SourceKind, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from threading import RLock

    from recollect.facts.decay import Pruned
    from recollect.facts.draft import Draft
    from recollect.facts.listing import Listing, Wanted
    from recollect.facts.remember import Remembered, Restored, Superseded
    from recollect.facts.transfer import ImportPlan
    from recollect.providers.chain import Chain
    from recollect.stores.base import Store

NEVER: Literal["never"] = "never"
"""In place of the moment at which a fact expires."""

_IS = re.compile(r"\s+(?:is|ist|est|es)\b\s*:?\s+")
"""In a sentence, what is `:` or `=` in a file."""


def audience_of(asked: Iterable[str], *, allowed: frozenset[str] | None) -> frozenset[str]:
    """Return the scopes a search sees: the global one, and those asked for that are allowed.

    Raises:
        UsageError: what is asked for is no scope.

    """
    held = None if allowed is None else frozenset(map(FactScope.parse, allowed))
    seen = narrowed(held, [FactScope.parse(each) for each in asked]) or frozenset()
    return frozenset({GLOBAL, *map(str, seen)})


class FactBook:
    """Writes facts down and looks them up; the ledger is locked while it is written."""

    def __init__(
        self,
        workspace: Path,
        *,
        store: Store,
        chain: Chain,
        lock: RLock,
        now: Callable[[], datetime],
    ) -> None:
        """Store the arguments.

        Args:
            workspace: the workspace whose ledger this is.
            store: the index, searched for near duplicates.
            chain: embeds a new fact to compare it by vector.
            lock: held while the store and the chain are used.
            now: returns the current time.

        """
        self._ledger = Ledger(workspace / FACTS_FOLDER)
        self._store = store
        self._chain = chain
        self._lock = lock
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
        expires: datetime | Literal["never"] | None = None,
        supersedes: Iterable[str] = (),
        provenance: Provenance = Provenance.OWNER,
        source: str = "",
    ) -> Remembered:
        """Write a fact down, or find that it is known, and say which.

        Args:
            text: the statement.
            category: what kind of fact it is.
            entity: whom or what it is about.
            key: which property of the entity.
            value: the property's value; with all three it is compared with other facts.
            tags: words to find it by.
            scope: for whom it holds.
            valid_from: since when it holds; None is now.
            expires: when it ends, or `never`; None goes by its words, see docs/facts.md.
            supersedes: ids of what it takes the place of.
            provenance: on whose word.
            source: where it was said.

        Raises:
            UsageError: it is no fact: no text, an unknown category, no such scope.
            NotFoundError: what it supersedes does not exist.
            StoreError: the ledger cannot be written.

        """
        if len(text) > MOST_FACT_CHARS:
            raise UsageError(
                f"A fact is a sentence or two; this has {len(text):,} characters.",
                action=f"Say it in {MOST_FACT_CHARS:,} or fewer, or write a note: memory/NAME.md.",
            )
        now = self._now()
        since = max(now, valid_from or now)
        category = category_of(category)
        if expires is not None:
            ending = _chosen(expires, since=since)
        elif provenance in EXPLICIT:
            ending = ending_of_said(text, key=key, category=category, since=since)
        else:
            decay = classify_decay(text, entity=entity, key=key)
            ending = Ending(decay, expiry(decay, since=since))
        fact = Fact(
            id=minted(now, chance=secrets.randbits(CHANCE_BITS)),
            text=text.strip(),
            category=category,
            entity=entity,
            key=key,
            value=value,
            tags=tags_of(tags),
            scope=FactScope.parse(scope),
            decay=ending.decay,
            confidence=CONFIDENCES[provenance],
            valid_from=valid_from,
            expires=ending.expires,
            supersedes=tuple(map(parse_id, supersedes)),
            provenance=provenance,
            source=source,
            created=now,
        )
        nearest = self._nearest(fact)
        has_ending = expires is not None
        done = self._ledger.edit(
            lambda draft: remember(draft, fact, now=now, nearest=nearest, has_ending=has_ending)
        )
        is_new = done.decision.verdict not in {Verdict.EXISTING, Verdict.UPDATE}
        return replace(
            done,
            notices=(*done.notices, *_not_compared(done), *_secrets_in(done)),
            because=ending.because if is_new else "",
        )

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

    def listed(
        self,
        wanted: Wanted,
        *,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> Listing:
        """Return the facts that hold and are wanted, with what is to be decided or corrected.

        Raises:
            UsageError: what is wanted names no category or scope.

        """
        state = self._ledger.read()
        return listed(
            state.facts,
            wanted,
            now=self._now(),
            as_of=as_of,
            include_superseded=include_superseded,
            problems=unreadable(state.problems, folder=FACTS_FOLDER),
        )

    def history(self, fact_id: str) -> tuple[Fact, ...]:
        """Return a fact with all that it superseded and was superseded by, oldest first.

        Raises:
            NotFoundError: there is no such fact.

        """
        return lineage(self._ledger.read().facts, parse_id(fact_id))

    def supersede(self, old_id: str, *, by: str) -> Superseded:
        """Mark a fact as superseded by another that is written down; return both.

        Raises:
            NotFoundError: one of them does not exist.
            UsageError: their scopes differ, or they would supersede each other in a circle.

        """
        old, new = parse_id(old_id), parse_id(by)
        return self._ledger.edit(lambda draft: supersede(draft, old, by_id=new))

    def restore(self, old_id: str) -> Restored:
        """Let a superseded fact hold again, beside what had taken its place.

        Raises:
            NotFoundError: there is no such fact.
            UsageError: nothing took its place.

        """
        old = parse_id(old_id)
        return self._ledger.edit(lambda draft: restore(draft, old))

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good; nothing that is extracted brings it back.

        What it had taken the place of holds again, unless another took its own.

        Raises:
            NotFoundError: there is no such fact.

        """
        wanted = parse_id(fact_id)
        return self._ledger.edit(lambda draft: forget(draft, wanted))

    def prune(self, *, dry_run: bool) -> tuple[Pruned, ...]:
        """Remove what expired or faded; a dry run only says what would go, and why."""
        now = self._now()
        if dry_run:
            return prune_plan(self._ledger.read().facts.values(), now=now)

        def work(draft: Draft) -> tuple[Pruned, ...]:
            plan = prune_plan(draft.facts.values(), now=now)
            prune(draft, [each.fact.id for each in plan])
            return plan

        return self._ledger.edit(work)

    def export(self) -> list[str]:
        """Return every fact as a line of JSON."""
        return list(exported(self._ledger.read().facts.values()))

    def bring(self, lines: Iterable[str]) -> ImportPlan:
        """Write down exported facts that are not known yet; return what became of each.

        Args:
            lines: of JSON Lines, or of the one document that `facts export --json` prints.

        Raises:
            UsageError: a line is not a fact; nothing was written.

        """
        given = imported(lines)
        now = self._now()

        def work(draft: Draft) -> ImportPlan:
            plan = import_plan(given, draft.facts, now=now)
            for fact in plan.added:
                draft.add(fact)
            others = contradicting(draft.facts, now=now)
            found = tuple((each, others[each.id]) for each in plan.added if each.id in others)
            return replace(plan, contradicting=found)

        return self._ledger.edit(work)

    def _nearest(self, fact: Fact) -> Nearest | None:
        """Return the indexed fact of the same scope whose vector is nearest, if vectors exist."""
        with self._lock:
            choice = self._chain.choose(self._store.published(), progress=silent, retry=False)
            if choice.provider is None:
                return None
            try:
                [vector] = choice.provider.embed([fact.text], role=Role.DOCUMENT)
            except ProviderError:
                return None  # equal words are still recognised without vectors
            scope = Scope(
                source=SourceKind.FACTS,
                audience=frozenset({str(fact.scope)}),
                as_of=self._now(),
            )
            fingerprint = choice.provider.fingerprint
            pool = self._store.nearest(fingerprint, vector=vector, scope=scope, limit=1)
            loaded = self._store.load(pool.keys, terms=[], fingerprint=None)
        marks = [chunk.fact for chunk in loaded.chunks if chunk.fact is not None]
        return Nearest(marks[0].id, pool.cosines[0]) if marks else None


def _chosen(expires: datetime | Literal["never"], *, since: datetime) -> Ending:
    if isinstance(expires, str):
        return Ending()
    if expires <= since:
        raise UsageError(
            "The fact would expire before it holds.", action="Name a later day, or never."
        )
    return Ending(expires=expires.astimezone(UTC))


def _not_compared(remembered: Remembered) -> tuple[str, ...]:
    """Return what to say of a key or a value that has no use yet."""
    fact = remembered.fact
    missing = [name for name in ("entity", "key", "value") if not str(getattr(fact, name)).strip()]
    if fact.provenance not in EXPLICIT or not missing or not (fact.key or fact.value):
        return ()
    needed = "that takes an entity, a key and a value"
    return (f"It is not compared with other facts: {needed}, and it has no {missing[0]}.",)


def _secrets_in(remembered: Remembered) -> tuple[str, ...]:
    """Return what to say of a fact that seems to hold a key or password: it was not refused."""
    fact = remembered.fact
    said = (fact.text, _IS.sub(": ", fact.text), fact.value, f"{fact.key}: {fact.value}")
    if remembered.decision.verdict is Verdict.FORGOTTEN or all(map(_is_open, said)):
        return ()
    found = (
        f"{fact.id} seems to hold a secret, which is in the ledger now and is found by searches."
    )
    action = f"`recollect facts forget {fact.id}` removes it; say where it is kept instead."
    return (f"{found} {action}",)


def _is_open(text: str) -> bool:
    return redact(text) == text
