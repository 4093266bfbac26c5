"""Draft: changes to the ledger, collected in memory to be written together.

Called inside `Ledger.edit`, two processes that state the same fact at once store it once.
`FactBook` documents the errors.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from recollect.errors import StoreError, UsageError
from recollect.facts.page import BulletIds, edited, parse_page
from recollect.facts.record import CATEGORIES, DEFAULT_CATEGORY, EXPLICIT, Fact, next_id
from recollect.facts.rules import Decision, Verdict, contradicting, decide
from recollect.facts.state import chain, forgotten_lines, no_such_fact, successors_of
from recollect.records import dataclass
from recollect.text.scripts import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from recollect.facts.state import LedgerState

MAX_FILE_FACTS = 1000
"""About 250 kB, which editors and diffs handle well; then the category gets another file."""
_DETAILS = ("category", "entity", "key", "value")


@dataclass(frozen=True, slots=True)
class RememberReport:
    """What happened to a fact."""

    fact: Fact
    """The fact as stored; the known one if it was known; as given if it was forgotten."""
    decision: Decision
    notices: tuple[str, ...] = ()
    """Remarks for the person or program that stated it."""
    contradicts: tuple[Fact, ...] = ()
    """Valid facts that it contradicts: a person has to decide."""


@dataclass(frozen=True, slots=True)
class SupersedeReport:
    """The outcome of superseding a fact."""

    old: Fact
    """The fact that is no longer valid: the end of its chain if it was already superseded."""
    by: Fact


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The outcome of restoring a superseded or forgotten fact."""

    fact: Fact
    others: tuple[Fact, ...]
    """The facts that superseded it."""


class Draft:
    """Changes to the ledger that are not written yet."""

    def __init__(self, state: LedgerState) -> None:
        self.state = state
        self._names = {name.lower(): name for name in (*state.pages, *state.unusable)}
        self._counts = Counter({name: len(page.entries) for name, page in state.pages.items()})
        self._facts = dict(state.facts)
        self._added: dict[str, str] = {}  # file by id
        self._changed: dict[str, Fact | None] = {}
        self._forgotten: dict[str, None] = {}
        self.unforgotten: frozenset[str] = frozenset()
        """Digests and ids that are no longer those of a forgotten fact."""

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
        fact = self.with_free_id(fact)
        self._added[fact.id] = self._file_for(fact)
        self._facts[fact.id] = fact
        return fact

    def with_free_id(self, fact: Fact) -> Fact:
        """Return a fact with the next free id if its own is taken."""
        while fact.id in self._facts or fact.id in self.state.forgotten:
            fact = replace(fact, id=next_id(fact.id))
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

    def bring_back(self, fact: Fact) -> None:
        """Add a forgotten fact as it was."""
        self.unforgotten = frozenset(forgotten_lines(fact))
        self._added[fact.id], self._facts[fact.id] = self._file_for(fact), fact

    def note_forgotten(self, lines: Iterable[str]) -> None:
        """Have digests and ids kept as those of forgotten facts."""
        self._forgotten.update(dict.fromkeys(lines))

    def texts(self) -> dict[str, str]:
        """Return the new text of every changed file: first additions, last removals.

        If the process dies in between, the successor's line decides, which names the old fact.
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
                self.state.pages.get(name) or parse_page(name, "", derive=BulletIds()),
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
            if name in self.state.unusable:
                problem = self.state.unusable[name]
                raise StoreError(f"{name} {problem.reason}.", action=problem.action)
            if self._counts[name] < MAX_FILE_FACTS:
                self._counts[name] += 1
                return name
            part += 1


def remember(draft: Draft, fact: Fact, *, now: datetime) -> RememberReport:
    """Store a fact unless it is known; the facts in its `supersedes` are marked as superseded."""
    fact = draft.with_free_id(fact)
    decision = decide(fact, draft.facts, now=now, forgotten=draft.state.forgotten)
    done = _applied(draft, fact, decision)
    if done.decision.verdict in {Verdict.UPDATE, Verdict.SUPERSEDE}:
        return replace(done, contradicts=contradicting(draft.facts, now=now).get(done.fact.id, ()))
    return done


def _applied(draft: Draft, fact: Fact, decision: Decision) -> RememberReport:
    match decision.verdict:
        case Verdict.EXISTING | Verdict.UPDATE:
            return _completed(draft, decision, fact)
        case Verdict.FORGOTTEN:
            return RememberReport(fact, decision)
        case Verdict.SUPERSEDE:
            others = [other.id for other in decision.others]  # of what it names, those at the end
            bare = replace(fact, supersedes=())
            return RememberReport(supersede_all(draft, others, by=bare), decision)
        case Verdict.CONTRADICTS:
            # Only a proposal: it must not count as superseding until a person says so.
            return RememberReport(draft.add(replace(fact, supersedes=())), decision)
        case Verdict.ADD:
            return RememberReport(draft.add(fact), decision)


def supersede(draft: Draft, old_id: str, *, by_id: str) -> SupersedeReport:
    """Mark a fact as superseded by another stored fact; again if that was written only in part."""
    by, old = draft.fact(by_id), draft.fact(old_id)
    [target] = _targets(draft, (old.id,), by)
    after = supersede_all(draft, (old.id,), by=by)
    return SupersedeReport(draft.fact(target.id), after)


def supersede_all(draft: Draft, old_ids: Iterable[str], *, by: Fact) -> Fact:
    """Let a new or stored fact supersede others; return it as stored."""
    targets = _targets(draft, old_ids, by)
    for old in targets:
        if old.scope != by.scope:
            raise UsageError(
                f"{by.id} has the scope {by.scope} and cannot supersede {old.id}, which has the"
                f" scope {old.scope}.",
                action="Give both the same scope.",
            )
        if old.id == by.id:
            raise UsageError(f"{by.id} cannot supersede itself.", action="Name another fact.")
        if by.id in draft.facts and old in chain(draft.facts, by.id):
            raise UsageError(
                f"{by.id} cannot supersede {old.id}, which supersedes it.",
                action=f"Run `recollect facts supersede --undo {by.id}` first.",
            )
    names = dict.fromkeys([*by.supersedes, *(old.id for old in targets)])
    after = replace(by, supersedes=tuple(names))
    after = draft.put(after) if by.id in draft.facts else draft.add(after)
    for old in targets:
        draft.put(_ended(old, by=by))
    return after


def _targets(draft: Draft, old_ids: Iterable[str], by: Fact) -> tuple[Fact, ...]:
    """Return the ends of the chains of some facts, each once, or what comes before a fact there."""
    found: dict[str, Fact] = {}
    for old_id in old_ids:
        steps = chain(draft.facts, old_id)
        known = [step.id for step in steps]
        target = steps[max(known.index(by.id) - 1, 0)] if by.id in known else steps[-1]
        found[target.id] = target
    return tuple(found.values())


def restore(draft: Draft, fact_id: str) -> RestoreReport:
    """Make a superseded fact valid again; its successors stay."""
    fact = draft.fact(fact_id)
    successor = successors_of(draft.facts).get(fact_id)
    if successor is None:
        raise UsageError(
            f"{fact_id} is not superseded.",
            action="`recollect facts list --include-superseded` shows which facts are.",
        )
    after = draft.put(_resumed(fact, after=draft.facts.get(successor)))
    others = [draft.facts[successor]] if successor in draft.facts else []
    for other in list(draft.facts.values()):
        if fact_id in other.supersedes and other.scope == fact.scope:
            left = tuple(name for name in other.supersedes if name != fact_id)
            draft.put(replace(other, supersedes=left))
            others += [other] if other.id != successor else []
    return RestoreReport(after, tuple(draft.facts[other.id] for other in others))


def _resumed(fact: Fact, *, after: Fact | None) -> Fact:
    """Return a fact that is valid again; an end before its successor began is its own and stays."""
    end = fact.valid_until
    if after is not None and end is not None:
        limit = _end_by(fact, after)
        if limit is not None and end < limit:
            return replace(fact, superseded_by="")
    return replace(fact, superseded_by="", valid_until=None)


def _ended(old: Fact, *, by: Fact) -> Fact:
    """Return a fact that another one superseded."""
    ends = (old.valid_until, _end_by(old, by))
    end = min((moment for moment in ends if moment is not None), default=None)
    return replace(old, superseded_by=by.id, valid_until=end)


def _end_by(old: Fact, by: Fact) -> datetime | None:
    """Return when a fact ends because another superseded it."""
    if by.begins is not None and old.begins is not None:
        # A successor may begin before the fact that it corrects, or that is merged into it.
        return max(by.begins, old.begins)
    return by.begins


def forget(draft: Draft, fact_id: str) -> Fact:
    """Remove a fact for good; what it superseded goes to its own successor, or is valid again."""
    successors = successors_of(draft.facts)
    heir = draft.facts.get(successors.get(fact_id, ""))
    forgotten = draft.forget(fact_id)
    left = tuple(each for each, successor in successors.items() if successor == fact_id)
    for old_id in left:
        old = _resumed(draft.fact(old_id), after=forgotten)
        draft.put(old if heir is None else _ended(old, by=heir))
    if heir is not None:
        names = (each for each in (*heir.supersedes, *left) if each != fact_id)
        draft.put(replace(heir, supersedes=tuple(dict.fromkeys(names))))
    return forgotten


def unforget(draft: Draft, fact: Fact) -> RestoreReport:
    """Bring a forgotten fact back as it was, and what it had replaced back below it."""
    if fact.id in draft.facts or forgotten_lines(fact)[0] not in draft.state.forgotten:
        raise UsageError(
            f"{fact.id} is not forgotten.", action="`recollect facts list` shows what is known."
        )
    draft.bring_back(fact)
    replaced = [draft.facts[each] for each in fact.supersedes if each in draft.facts]
    for old in replaced:
        if old.scope == fact.scope:
            draft.put(_ended(old, by=fact))
    if heir := draft.facts.get(fact.superseded_by):
        left = (each for each in heir.supersedes if each not in fact.supersedes)
        draft.put(replace(heir, supersedes=tuple(dict.fromkeys((*left, fact.id)))))
    return RestoreReport(fact, ())


def _completed(draft: Draft, decision: Decision, fact: Fact) -> RememberReport:
    """Add missing details to a known fact; report the details that were not taken."""
    known = decision.others[0]
    if fact.provenance not in EXPLICIT:
        return RememberReport(known, decision)
    after = _with_details(known, fact)
    notices = _not_taken(after, fact)
    if after == known:
        return RememberReport(known, decision, notices)
    named = (*_DETAILS, "tags", "expires")
    names = [name for name in named if getattr(after, name) != getattr(known, name)]
    reason = f"it was known; updated: {', '.join(names)}"
    return RememberReport(draft.put(after), Decision(Verdict.UPDATE, (known,), reason), notices)


def _with_details(known: Fact, fact: Fact) -> Fact:
    """Return a known fact with the details that only the new one of the same text has."""
    taken: dict[str, object] = {}
    if fact.confidence >= known.confidence:
        differing = _differing(known, fact)
        if known.category != DEFAULT_CATEGORY:
            differing.pop("category", None)
        if any(getattr(known, name) for name in differing.keys() - {"category"}):
            differing = {}  # they describe another entity
        taken = differing
        taken["tags"] = tuple(dict.fromkeys([*known.tags, *fact.tags]))
    if fact.expires is not None:
        taken |= {"decay": fact.decay, "expires": fact.expires}
    return replace(known, **taken)  # type: ignore[arg-type]  # fields of a Fact


def _differing(known: Fact, fact: Fact) -> dict[str, object]:
    """Return the details that a fact has otherwise than the known one."""
    return {
        name: given
        for name in _DETAILS
        if (given := getattr(fact, name)) not in {"", DEFAULT_CATEGORY}
        and normalised(given) != normalised(getattr(known, name))
    }


def _not_taken(known: Fact, fact: Fact) -> tuple[str, ...]:
    left = [f"{name} {given}" for name, given in _differing(known, fact).items()]
    left += [f"tag {tag}" for tag in fact.tags if tag not in known.tags]
    if fact.valid_from not in {None, known.valid_from}:
        left.append("when it began")
    if not left:
        return ()
    action = f"Edit its line in memory/facts, or forget {known.id} and state it again."
    return (f"Ignored, because it is known as {known.id}: {', '.join(left)}. {action}",)
