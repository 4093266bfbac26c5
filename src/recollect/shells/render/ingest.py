"""What `ingest` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.facts import contradiction_json, remembered_text
from recollect.shells.render.search import price_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.facts.extract.ask import Plan
    from recollect.facts.extract.run import Extracted
    from recollect.shells.render.search import Json, Line


def plan_json(plan: Plan) -> Json:
    """Return the contract of `ingest --dry-run --json`."""
    return {
        "dryRun": True,
        "files": [
            {"path": each.path, "new": each.is_new, "blocks": each.block_count}
            for each in plan.files
        ],
        "unchanged": list(plan.unchanged),
        "requests": len(plan.batches),
        "inputTokens": plan.input_tokens,
        "outputTokens": plan.output_tokens,
        "estimatedCost": plan.cost,
    }


def plan_text(plan: Plan) -> Iterator[Line]:
    """Yield what would be sent."""
    for each in plan.files:
        kind = "new" if each.is_new else "changed"
        yield f"{each.path} ({kind}, {_counted(each.block_count, 'block')})", ""
    cost = "price not known" if plan.cost is None else price_text(plan.cost)
    size = f"about {plan.input_tokens} tokens there and {plan.output_tokens} back, {cost}"
    yield f"{_counted(len(plan.batches), 'request')} would be sent: {size}", ""
    unchanged = len(plan.unchanged)
    are = "is" if unchanged == 1 else "are"
    yield f"{_counted(unchanged, 'file')} {are} unchanged and not sent", ""


def extracted_json(done: Extracted, *, program: str) -> Json:
    """Return the contract of `ingest --json`."""
    return {
        "dryRun": False,
        "files": len(done.plan.files),
        "unchanged": len(done.plan.unchanged),
        "requests": len(done.plan.batches),
        "stored": done.stored,
        "known": done.known,
        "forgotten": [{"text": fact.text, "source": fact.source} for fact in done.forgotten],
        "contradicting": len(done.contradicting),
        "contradictions": [
            contradiction_json(each, program=program) for each in done.contradicting
        ],
        "suspicious": done.suspicious,
        "skipped": done.skipped,
        "failed": [{"reason": each.reason, "action": each.action} for each in done.failures],
        "notices": list(done.notices),
        "estimatedCost": done.cost,
    }


def extracted_text(done: Extracted, *, program: str) -> Iterator[Line]:
    """Yield what `ingest` prints."""
    files = f"{_counted(len(done.plan.files), 'file')}, {len(done.plan.unchanged)} unchanged"
    yield f"{_counted(done.stored, 'fact')} stored, {done.known} known already ({files})", ""
    if done.forgotten:
        yield f"{len(done.forgotten)} forgotten before, left out:", ""
    for fact in done.forgotten:
        yield f"  {fact.text} ({fact.source})", "dim"
    if done.contradicting:
        yield f"{len(done.contradicting)} contradict what is stored; somebody has to decide:", ""
    for each in done.contradicting:
        yield from remembered_text(each, program=program)
    if done.suspicious:
        yield f"{done.suspicious} left out: they read like instructions, or no file says so.", ""
    if done.cost is not None:
        yield price_text(done.cost), "dim"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def remarks(done: Extracted) -> Iterator[Line]:
    """Yield what went wrong, and what is to be looked at."""
    for notice in done.notices:
        yield notice, "yellow"
    for each in done.failures:
        yield each.reason, "yellow"
        yield f"  → {each.action}", "yellow"
