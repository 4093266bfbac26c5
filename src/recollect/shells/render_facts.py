"""What the commands about facts say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.facts.decay import Pruned
    from recollect.facts.record import Fact
    from recollect.facts.remember import Remembered
    from recollect.facts.transfer import ImportPlan
    from recollect.shells.render import Json, Line

_SAID = {
    "add": "remembered",
    "update": "changed",
    "existing": "known already",
    "supersede": "remembered, in place of",
    "contradicts": "remembered, though it contradicts",
    "forgotten": "not remembered: it was forgotten on purpose",
}


def fact_json(fact: Fact) -> Json:
    """Return a fact in the names of the export."""
    from recollect.facts.transfer import as_fields  # noqa: PLC0415 - not needed for --help

    return as_fields(fact)


def facts_json(facts: Sequence[Fact]) -> Json:
    """Return the contract of `facts list --json`."""
    return {"facts": [fact_json(fact) for fact in facts]}


def remembered_json(remembered: Remembered) -> Json:
    """Return the contract of `remember --json`: the fact with its id, and what became of it."""
    return {
        **fact_json(remembered.fact),
        "verdict": remembered.decision.verdict.value,
        "reason": remembered.decision.reason or None,
        "others": [fact.id for fact in remembered.decision.others],
    }


def remembered_text(remembered: Remembered) -> Iterator[Line]:
    """Yield what `remember` prints."""
    decision = remembered.decision
    yield f"{remembered.fact.id}  {remembered.fact.text}", "bold"
    reason = f" ({decision.reason})" if decision.reason else ""
    yield f"  {_SAID[decision.verdict.value]}{reason}{_until(remembered.fact)}", "dim"
    for other in decision.others:
        if other.id != remembered.fact.id:
            yield f"  {other.id}  {other.text}", "dim"
    if decision.verdict.value == "contradicts":
        for other in decision.others:
            hint = f"recollect facts supersede {other.id} {remembered.fact.id}"
            yield f"  → `{hint}` if it is outdated.", "yellow"


def _until(fact: Fact) -> str:
    return f", until {fact.expires.astimezone().date()}" if fact.expires else ""


def facts_text(facts: Sequence[Fact]) -> Iterator[Line]:
    """Yield a line or two a fact."""
    if not facts:
        yield "No facts.", ""
    for fact in facts:
        yield f"{fact.id}  {fact.text}", "bold" if not fact.is_superseded else "dim"
        about = ", ".join(each for each in (fact.category, fact.entity, fact.key) if each)
        since = f", since {fact.begins.astimezone().date()}" if fact.begins else ""
        ended = f", superseded by {fact.superseded_by}" if fact.is_superseded else ""
        yield f"  {about}, {fact.scope}, by {fact.provenance}{since}{_until(fact)}{ended}", "dim"


def pruned_json(pruned: Sequence[Pruned], *, dry_run: bool) -> Json:
    """Return the contract of `facts prune --json`."""
    return {
        "dryRun": dry_run,
        "pruned": [{"reason": each.reason.value, **fact_json(each.fact)} for each in pruned],
    }


def pruned_text(pruned: Sequence[Pruned], *, dry_run: bool) -> Iterator[Line]:
    """Yield what `facts prune` prints."""
    would = "would go" if dry_run else "removed"
    yield f"{len(pruned)} {would}", ""
    for each in pruned:
        yield f"  {each.fact.id}  {each.fact.text} ({each.reason.value})", "dim"


def import_json(plan: ImportPlan) -> Json:
    """Return the contract of `facts import --json`."""
    return {
        "added": [fact.id for fact in plan.added],
        "same": [fact.id for fact in plan.same],
        "differing": [fact.id for fact in plan.differing],
    }


def import_text(plan: ImportPlan) -> Iterator[Line]:
    """Yield what `facts import` prints."""
    yield f"{len(plan.added)} added, {len(plan.same)} known already", ""
    for fact in plan.differing:
        yield f"  {fact.id} is stored with another content, which stands.", "yellow"
