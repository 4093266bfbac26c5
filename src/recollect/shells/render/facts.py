"""What `remember`, `facts` and `ingest` print."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from recollect.facts.entry import format_entry
from recollect.facts.record import DEFAULT_CATEGORY
from recollect.records import dataclass
from recollect.shape import Shape
from recollect.shells.render.shared import plural, warning_lines
from recollect.text.days import local_day
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime

    from recollect.facts.book import Listing
    from recollect.facts.draft import RememberReport, RestoreReport, SupersedeReport
    from recollect.facts.extract.plan import ExtractionPlan
    from recollect.facts.extract.run import ExtractionReport
    from recollect.facts.record import Fact
    from recollect.facts.rules import Duplicate, Verdict
    from recollect.reports import Failure
    from recollect.shape import Json
    from recollect.shells.render.shared import Line

_VERDICTS = {
    "add": "remembered{when}",
    "update": "changed{when}",
    "existing": "already known",
    "supersede": "remembered{when}; replaces {others}",
    "contradicts": "remembered{when}, but it contradicts {others}",
    "forgotten": "not remembered: it was deliberately forgotten",
}


@dataclass(frozen=True, slots=True)
class FactHistory:
    """The JSON of `facts show`."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ListedFact:
    """A fact, and the ids of those that contradict it."""

    shape = Shape(merged="fact")
    fact: Fact
    contradicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactList:
    """The JSON of `facts list`."""

    facts: tuple[ListedFact, ...]
    problems: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class RememberedFact:
    """The JSON of `remember`: the fact, and what became of it."""

    shape = Shape(merged="fact", null="reason")
    fact: Fact
    verdict: Verdict
    reason: str
    others: tuple[str, ...]
    duplicates: tuple[Duplicate, ...]
    commands: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplacingFact:
    """The JSON of `facts supersede`: the fact that is valid now, and the one it replaced."""

    shape = Shape(merged="by")
    by: Fact
    superseded: Fact
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoredFact:
    """The JSON of `facts supersede --undo`: the valid fact, and the ids of others."""

    shape = Shape(merged="fact")
    fact: Fact
    restored_from: tuple[str, ...]
    contradicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForgottenFact:
    """The JSON of `facts forget`: the removed fact, those valid again, and what undoes it."""

    forgotten: Fact
    restored: tuple[Fact, ...]
    entry: str
    """The fact as it was in its file; forgetting is undone with it."""
    commands: tuple[str, ...] = ()


def listed(listing: Listing) -> FactList:
    """Return the JSON of `facts list`."""
    return FactList(
        tuple(
            ListedFact(fact, _ids(listing.contradicting.get(fact.id, ()))) for fact in listing.facts
        ),
        listing.problems,
    )


def _ids(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(fact.id for fact in facts)


def listing_text(
    listing: Listing,
    *,
    program: str,
    numbers: Mapping[str, int],
    is_narrowed: bool,
    as_of: date | None = None,
) -> Iterator[Line]:
    """Yield what `facts list` prints: a few lines per fact, with the number that names it."""
    if not listing.facts:
        which = " that matches" if is_narrowed else ""
        nothing = "No facts match." if is_narrowed else "No facts."
        yield (nothing if as_of is None else f"No fact{which} was valid on {as_of}."), ""
        if listing.superseded:
            yield f"  → `--include-superseded` also shows {listing.superseded} superseded.", "dim"
        elif not is_narrowed and as_of is None:
            yield f"  → `{program} remember TEXT` saves one.", "dim"
    for fact in listing.facts:
        number = f"{numbers[fact.id]}. " if fact.id in numbers else ""
        yield f"{number}{fact.text}", "bold" if not fact.is_superseded else "dim"
        yield f"  {fact.id}  {_about(fact)}", "dim"
        others = listing.contradicting.get(fact.id, ())
        if others:
            named = (f"{numbers.get(each.id, each.id)}. {each.text}" for each in others)
            yield f"  contradicts {'; '.join(named)}", "yellow"
        for other in others:
            if not other.is_superseded:  # else it is already decided, from a later day on
                yield f"  → `{_supersede(other, fact, program)}` if this one is right.", "yellow"


def listing_remarks(listing: Listing) -> Iterator[Line]:
    """Yield which lines of the ledger cannot be read, and what to do."""
    for each in listing.problems:
        yield from warning_lines(f"{each.path} {each.reason}.", each.action)


def remembered_fact(remembered: RememberReport, *, program: str) -> RememberedFact:
    """Return the JSON of `remember`."""
    decision = remembered.decision
    return RememberedFact(
        remembered.fact,
        decision.verdict,
        decision.reason,
        others=_ids(decision.others),
        duplicates=decision.duplicates,
        commands=tuple(command for command, _ in _proposals(remembered, program)),
        notices=tuple(remembered_notices(remembered)),
    )


def remembered_notices(remembered: RememberReport) -> Iterator[str]:
    """Yield the notices for programs, including what the text form says in its lines."""
    for other in remembered.contradicts:
        yield f"It contradicts {other.id}, which is also valid."
    for each in remembered.decision.duplicates:
        yield f"It may say the same as {each.fact.id}: {each.fact.text}"
    yield from remembered.notices


def remembered_text(remembered: RememberReport, *, program: str) -> Iterator[Line]:
    """Yield what `remember` prints."""
    decision, fact = remembered.decision, remembered.fact
    yield f"{fact.id}  {fact.text}", "bold"
    since = f", valid from {_day(fact.valid_from)}" if fact.valid_from else ""
    others = [other for other in decision.others if other.id != fact.id]
    verdict = _VERDICTS[decision.verdict.value].format(
        when=since + _until(fact), others="this fact" if len(others) == 1 else "these facts"
    )
    yield f"  {verdict}{_why(decision.reason, others)}{':' if others else ''}", "dim"
    yield from _below(others)
    if remembered.contradicts:
        yield "  but it contradicts:", "dim"
        yield from _below(remembered.contradicts)
    if decision.duplicates:
        yield f"  but it may repeat this fact ({decision.duplicates[0].reason}):", "dim"
        yield from _below(each.fact for each in decision.duplicates)
    for command, when in _proposals(remembered, program):
        yield f"  → `{command}` {when}", "yellow"


def _why(reason: str, others: Sequence[Fact]) -> str:
    """Return the reason of a decision, as the end of a line above the facts it is about."""
    if len(others) == 1 and reason.startswith(f"{others[0].id} "):
        return f", which {reason.removeprefix(f'{others[0].id} ')}"
    return f" ({reason})" if reason else ""


def _below(facts: Iterable[Fact]) -> Iterator[Line]:
    for fact in facts:
        yield f"  {fact.id}  {fact.text}", "dim"
        yield f"    {_about(fact)}", "dim"


def _proposals(remembered: RememberReport, program: str) -> Iterator[tuple[str, str]]:
    """Yield the commands to run next and when to use each, the likeliest first."""
    fact = remembered.fact
    for other in remembered.contradicts:
        yield _supersede(other, fact, program), f"if {fact.id} is right."
    for each in remembered.decision.duplicates:
        yield _supersede(fact, each.fact, program), f"merges them: {each.fact.id} stays."
    for other in remembered.decision.others:
        if remembered.decision.verdict.value == "supersede":
            yield _undo(other, program), "if both are valid."
        elif remembered.decision.verdict.value == "contradicts":
            is_older = fact.begins and other.begins and fact.begins < other.begins
            for old, new in ((fact, other), (other, fact))[:: 1 if is_older else -1]:
                yield _supersede(old, new, program), f"if {new.id} is right."


def _supersede(old: Fact, new: Fact, program: str) -> str:
    return f"{program} facts supersede {old.id} {new.id}"


def _undo(old: Fact, program: str) -> str:
    return f"{program} facts supersede --undo {old.id}"


def replacing_fact(done: SupersedeReport, *, program: str) -> ReplacingFact:
    """Return the JSON of `facts supersede`."""
    return ReplacingFact(done.by, done.old, (_undo(done.old, program),))


def superseded_text(done: SupersedeReport, *, program: str) -> Iterator[Line]:
    """Yield what `facts supersede` prints."""
    yield from facts_text([done.by])
    yield "  replaces", "dim"
    yield from facts_text([done.old])
    yield f"  → `{_undo(done.old, program)}` undoes that.", "yellow"


def restored_fact(done: RestoreReport, listing: Listing) -> RestoredFact:
    """Return the JSON of `facts supersede --undo`."""
    others = listing.contradicting.get(done.fact.id, ())
    return RestoredFact(done.fact, _ids(done.others), _ids(others))


def restored_text(done: RestoreReport, listing: Listing, *, program: str) -> Iterator[Line]:
    """Yield what `facts supersede --undo` prints."""
    state = "valid again" if done.fact in listing.facts else "no longer superseded"
    yield f"{done.fact.id}  {done.fact.text}", "bold"
    yield f"  is {'superseded again' if done.fact.is_superseded else state}", "dim"
    yield f"  {_about(done.fact)}", "dim"
    if done.others:
        yield "  alongside", "dim"
        yield from facts_text(done.others)
    for other in listing.contradicting.get(done.fact.id, ()):
        yield f"  → `{_supersede(done.fact, other, program)}` if they contradict.", "yellow"


def forgotten_fact(fact: Fact, restored: Sequence[Fact], *, program: str = "") -> ForgottenFact:
    """Return the JSON of `facts forget`. Nothing is kept of the fact but the entry in it."""
    entry = format_entry(fact, category="")
    command = f"{program} facts forget --undo {shlex.quote(entry)}"
    return ForgottenFact(fact, tuple(restored), entry, (command,) if program else ())


def forgotten_text(done: ForgottenFact) -> Iterator[Line]:
    """Yield what `facts forget` prints."""
    yield f"Forgotten: {done.forgotten.text}", ""
    for each in done.restored:
        yield f"Valid again: {each.id}  {each.text}", ""
    for command in done.commands:
        yield f"  → `{command}` undoes that.", "yellow"


def _day(moment: datetime) -> str:
    return str(local_day(moment))


def _until(fact: Fact) -> str:
    return f", until {_day(fact.expires)}" if fact.expires else ""


def facts_text(facts: Sequence[Fact]) -> Iterator[Line]:
    """Yield two lines per fact."""
    for fact in facts:
        yield f"{fact.id}  {fact.text}", "bold" if not fact.is_superseded else "dim"
        yield f"  {_about(fact)}", "dim"


def _about(fact: Fact) -> str:
    """Return the other fields of a fact in one line."""
    value = fact.value and f"{fact.key} = {fact.value}".removeprefix(" = ")
    category = fact.category if fact.category != DEFAULT_CATEGORY else ""
    about = (category, fact.entity, value or fact.key, *(f"#{tag}" for tag in fact.tags))
    since = f", since {_day(fact.begins)}" if fact.begins else ""
    by = fact.superseded_by
    ended = ", withdrawn" if by == "none" else f", superseded by {by}" if by else ""
    about = (*about, fact.scope if fact.scope != GLOBAL else "", f"by {fact.provenance}")
    return f"{', '.join(filter(None, about))}{since}{_until(fact)}{ended}"


def plan_text(plan: ExtractionPlan) -> Iterator[Line]:
    """Yield what `ingest --dry-run` prints."""
    for path in plan.files:
        yield path, ""
    size = f"about {plan.input_tokens} tokens"
    yield f"{plural(plan.requests, 'request')} would be sent: {size}", ""
    yield f"{plural(len(plan.unchanged), 'file')} unchanged, not sent", ""


def extracted_json(done: ExtractionReport, *, program: str) -> Json:
    """Return the JSON of `ingest`."""
    return {
        "dryRun": False,
        "files": len(done.plan.files),
        "unchanged": len(done.plan.unchanged),
        "requests": done.plan.requests,
        "stored": done.stored,
        "known": done.known,
        "forgotten": [{"text": fact.text, "source": fact.source} for fact in done.forgotten],
        "contradicting": len(done.contradicting),
        "contradictions": [
            {
                "fact": each.fact,
                "others": each.decision.others,
                "reason": each.decision.reason or None,
                "commands": [command for command, _ in _proposals(each, program)],
            }
            for each in done.contradicting
        ],
        "suspicious": done.suspicious,
        "skipped": done.skipped,
        "failed": done.failures,
        "notices": done.notices,
        "inputTokens": done.input_tokens,
        "outputTokens": done.output_tokens,
    }


def extracted_text(done: ExtractionReport, *, program: str) -> Iterator[Line]:
    """Yield what `ingest` prints."""
    files = f"{plural(len(done.plan.files), 'file')}, {len(done.plan.unchanged)} unchanged"
    yield f"{plural(done.stored, 'fact')} stored, {done.known} already known ({files})", ""
    if done.forgotten:
        yield f"{len(done.forgotten)} left out, forgotten earlier:", ""
    for fact in done.forgotten:
        yield f"  {fact.text} ({fact.source})", "dim"
    if done.contradicting:
        yield f"{len(done.contradicting)} contradict stored facts; decide which are right:", ""
    for each in done.contradicting:
        yield from remembered_text(each, program=program)
    if done.suspicious:
        why = "they read like instructions, or their file does not say that"
        yield f"{done.suspicious} left out: {why}.", ""


def extracted_remarks(done: ExtractionReport) -> Iterator[Line]:
    """Yield what went wrong while extracting, and what to check."""
    for notice in done.notices:
        yield notice, "yellow"
    for each in done.failures:
        yield from warning_lines(each.reason, each.action)
