"""FactBook: what you can do with the facts of a memory."""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, SecretError, UsageError, explains_system_failures
from recollect.facts.draft import forget, remember, restore, supersede, unforget
from recollect.facts.files import FACTS_FOLDER
from recollect.facts.page import BulletIds, parse_page
from recollect.facts.record import (
    CATEGORIES,
    CONFIDENCES,
    EXPLICIT,
    MOST_FACT_CHARS,
    RANDOM_BITS,
    SAVE_PLACE,
    DecayClass,
    Fact,
    Provenance,
    category_of,
    classify_decay,
    expiry,
    mint_id,
    parse_id,
)
from recollect.facts.rules import Verdict, contradicting
from recollect.facts.scope import parse_scope
from recollect.facts.state import active, lineage
from recollect.records import dataclass
from recollect.shape import json_of
from recollect.text.scripts import normalised
from recollect.text.secrets import find_secrets
from recollect.text.tags import declared, has_tag, tag_names, tags_named
from recollect.text.terminal import terminal_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from recollect.facts.draft import Draft, RememberReport, RestoreReport, SupersedeReport
    from recollect.facts.ledger import Ledger
    from recollect.reports import Failure

_WORD = re.compile(r"\w+")
_MOST_DIGITS = 3  # of a number in a list: a longer one is said by a fact


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts to list; an empty field excludes nothing."""

    scopes: tuple[str, ...] = ()
    category: str = ""
    entity: str = ""
    tags: tuple[str, ...] = ()
    """A fact needs all of them."""
    text: str = ""
    """Words that it contains, in any case."""


_ALL = FactFilter()
_MOST_NAMED = 5  # facts that one name may mean


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts, with contradictions between them and problems in the ledger."""

    facts: tuple[Fact, ...]
    contradicting: Mapping[str, tuple[Fact, ...]]
    """Facts that contradict each fact, by its id: one of them should be superseded."""
    problems: tuple[Failure, ...]
    """Entries that cannot be read, whatever the filter."""
    superseded: int = 0
    """Number of matching facts that are hidden because they were superseded."""


@explains_system_failures
class FactBook:
    """Stores facts in the ledger and looks them up; the ledger is locked while it is written."""

    def __init__(self, ledger: Ledger, *, now: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._now = now

    def remember(  # noqa: PLR0913 - the fields of a fact
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
        expires: datetime | None = None,
        supersedes: Iterable[str] = (),
        provenance: Provenance = Provenance.OWNER,
        source: str = "",
        force: bool = False,
    ) -> RememberReport:
        """Store a fact unless it is known; return what happened.

        Args:
            text: the statement.
            category: the kind of fact.
            entity: the person or thing it is about.
            key: the property of the entity.
            value: of the property. Facts with all three are compared with each other.
            tags: words to find it by.
            scope: who it applies to.
            valid_from: when it became valid; None is now.
            expires: when it expires; None is never for a fact stated on purpose, and by the words
                of an extracted one, see docs/reference/facts.md.
            supersedes: ids of the facts that it replaces.
            provenance: who stated it.
            source: where it was stated.
            force: store it even if it contains a secret.

        Raises:
            SecretError: it contains a secret.
            UsageError: the text is missing or too long, or there is no such category or scope.
            NotFoundError: a fact that it supersedes does not exist.
            StoreError: the ledger cannot be written.

        """
        if len(text) > MOST_FACT_CHARS:
            raise UsageError(
                f"A fact is a sentence or two; this has {len(text):,} characters.",
                action=f"Use at most {MOST_FACT_CHARS:,}, or write a note: memory/NAME.md.",
            )
        now = self._now()
        since = max(now, valid_from or now)
        category = category_of(category)
        decay = DecayClass.PERMANENT
        if expires is not None and expires <= since:
            raise UsageError(
                "The fact would expire before it becomes valid.", action="Use a later day."
            )
        if expires is None and provenance not in EXPLICIT:
            decay = classify_decay(text, entity=entity, key=key)
            expires = expiry(decay, since=since)
        fact = Fact(
            id=mint_id(now, random_bits=secrets.randbits(RANDOM_BITS)),
            text=text.strip(),
            category=category,
            entity=entity,
            key=key,
            value=value,
            tags=tag_names(tags),
            scope=parse_scope(scope),
            decay=decay,
            confidence=CONFIDENCES[provenance],
            valid_from=valid_from,
            expires=expires and expires.astimezone(UTC),
            supersedes=tuple(map(parse_id, supersedes)),
            provenance=provenance,
            source=source,
            created=now,
        )
        if not force and (kinds := _secrets_of(fact)):
            raise SecretError(
                f"This contains a secret ({kinds}) and was not saved: facts are stored"
                " as plain text and can be searched.",
                action=f"{SAVE_PLACE} To save it anyway, use `--force` (in Python `force=True`).",
            )

        def work(draft: Draft) -> RememberReport:
            # What others stored while this one waited for the ledger is older.
            locked = self._now()
            return remember(draft, replace(fact, created=locked), now=locked)

        done = self._ledger.edit(work)
        return replace(done, notices=(*done.notices, *_not_compared(done), *_secret_notices(done)))

    def all(
        self, *, scopes: frozenset[str] | None = None, include_superseded: bool = False
    ) -> list[Fact]:
        """Return the valid facts; `scopes` None is the owner, who sees all of them."""
        facts = active(
            self._ledger.read().facts, now=self._now(), include_superseded=include_superseded
        )
        return [fact for fact in facts if scopes is None or fact.scope in scopes]

    def listed(
        self,
        wanted: FactFilter = _ALL,
        *,
        as_of: datetime | None = None,
        include_superseded: bool = False,
    ) -> Listing:
        """Return the valid facts that match, with contradictions and problems in the ledger.

        Raises:
            UsageError: the filter names an unknown category or an invalid scope.

        """
        state, now = self._ledger.read(), self._now()
        matches = _matcher(wanted, state.facts.values())

        def found(*, superseded: bool) -> tuple[Fact, ...]:
            valid = active(state.facts, now=now, as_of=as_of, include_superseded=superseded)
            return tuple(filter(matches, valid))

        shown = found(superseded=include_superseded)
        return Listing(
            shown,
            contradicting(state.facts, now=as_of or now),
            tuple(problem.as_failure(folder=FACTS_FOLDER) for problem in state.problems),
            superseded=len(found(superseded=True)) - len(shown),
        )

    def find(self, name: str) -> str:
        """Return the id of a fact that is named by its id, its number in `all`, or some words.

        Raises:
            NotFoundError: there is no such fact.
            UsageError: several facts have the words.

        """
        with suppress(UsageError):
            return parse_id(name)
        valid, facts = self.all(), self._ledger.read().facts
        if name.isdecimal() and 0 < int(name) <= len(valid):
            return valid[int(name) - 1].id
        action = "`recollect facts list` shows all, with their numbers."
        if name.isdecimal() and len(name) <= _MOST_DIGITS:
            raise NotFoundError(f"There is no fact {name}: there are {len(valid)}.", action=action)
        words = normalised(name)
        found = [each for each in valid if _says(each, words)]
        found = found or [each for each in facts.values() if _says(each, words)]
        found = [each for each in found if words in normalised(each.text)] or found
        found = [each for each in found if normalised(each.text) == words] or found
        if not found:
            raise NotFoundError(f"No fact has the words {name!r}.", action=action)
        if len(found) > 1:
            named = "; ".join(f"{each.id} {each.text}" for each in found[:_MOST_NAMED])
            raise UsageError(
                f"{len(found)} facts have these words: {named}",
                action="Name one by its id, or by its number in `recollect facts list`.",
            )
        return found[0].id

    def history(self, fact_id: str) -> tuple[Fact, ...]:
        """Return a fact with its predecessors and successors, oldest first.

        Raises:
            NotFoundError: there is no such fact.

        """
        return lineage(self._ledger.read().facts, parse_id(fact_id))

    def supersede(self, old_id: str, *, by: str) -> SupersedeReport:
        """Mark a fact as superseded by another stored fact; return both.

        Raises:
            NotFoundError: one of them does not exist.
            UsageError: their scopes differ, or they would supersede each other.

        """
        old, new = parse_id(old_id), parse_id(by)
        return self._ledger.edit(lambda draft: supersede(draft, old, by_id=new))

    def restore(self, old_id: str) -> RestoreReport:
        """Make a superseded fact valid again; its successors stay.

        Raises:
            NotFoundError: there is no such fact.
            UsageError: it is not superseded.

        """
        old = parse_id(old_id)
        return self._ledger.edit(lambda draft: restore(draft, old))

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good; extraction never brings it back. `unforget` undoes it.

        The facts it superseded are valid again, unless the fact itself was superseded.

        Raises:
            NotFoundError: there is no such fact.

        """
        wanted = parse_id(fact_id)
        return self._ledger.edit(lambda draft: forget(draft, wanted))

    def unforget(self, fact: Fact) -> RestoreReport:
        """Bring a forgotten fact back as it was: nothing of it is kept, so it has to be given."""
        return self._ledger.edit(lambda draft: unforget(draft, fact))

    def export(self) -> list[str]:
        """Return every fact as a line of JSON."""
        facts = self._ledger.read().facts.values()
        return [terminal_json(json.dumps(json_of(fact), ensure_ascii=False)) for fact in facts]


def fact_in(entry: str) -> Fact:
    """Return the fact in an entry of the ledger; raise UsageError if it is not one."""
    entries = parse_page("", entry, derive=BulletIds()).entries
    if len(entries) != 1 or not entries[0].has_record:
        action = "Give the whole entry that forgetting a fact printed."
        raise UsageError("This is not one entry of memory/facts.", action=action)
    return entries[0].fact


def _matcher(wanted: FactFilter, facts: Iterable[Fact]) -> Callable[[Fact], bool]:
    scopes = frozenset(map(parse_scope, wanted.scopes))
    named = {fact.category for fact in facts if not scopes or fact.scope in scopes}
    known = (*CATEGORIES, *sorted(named - {*CATEGORIES}))
    category = category_of(wanted.category, known=known) if wanted.category else ""
    tags = tags_named(wanted.tags)
    entity, words = normalised(wanted.entity), normalised(wanted.text)

    def matches(fact: Fact) -> bool:
        return (
            (not scopes or fact.scope in scopes)
            and category in {"", fact.category}
            and entity in {"", normalised(fact.entity)}
            and all(has_tag("", declared(fact.tags), tag.name) for tag in tags)
            and _says(fact, words)
        )

    return matches


def _says(fact: Fact, words: str) -> bool:
    """Return whether some words are in a fact's text, or each in something that it says."""
    said = normalised(f"{fact.text} {fact.entity} {fact.key} {fact.value}")
    each = set(_WORD.findall(words))
    return words in normalised(fact.text) or (bool(each) and each <= set(_WORD.findall(said)))


def _not_compared(remembered: RememberReport) -> tuple[str, ...]:
    """Return a notice if a key or a value has no effect yet."""
    fact = remembered.fact
    missing = [name for name in ("entity", "key", "value") if not str(getattr(fact, name)).strip()]
    if fact.provenance not in EXPLICIT or not missing or not (fact.key or fact.value):
        return ()
    needed = "that needs an entity, a key and a value"
    return (f"It is not compared with other facts: {needed}, and it has no {missing[0]}.",)


def _secrets_of(fact: Fact) -> str:
    """Return the kinds of secrets that a fact contains, never the secrets."""
    value = f'{fact.key}="{fact.value}"' if fact.key else fact.value
    texts = (fact.text, fact.entity, value, *fact.tags)
    return ", ".join(dict.fromkeys(each.kind for text in texts for each in find_secrets(text)))


def _secret_notices(remembered: RememberReport) -> tuple[str, ...]:
    """Return a notice about a stored fact that contains a secret."""
    fact, kinds = remembered.fact, _secrets_of(remembered.fact)
    if not kinds or remembered.decision.verdict is Verdict.FORGOTTEN:
        return ()
    found = f"{fact.id} contains a secret ({kinds}), which can now be searched."
    return (f"{found} `recollect facts forget {fact.id}` removes it.",)
