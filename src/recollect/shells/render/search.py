"""Records as JSON and as text: the only place where answers get their outward shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.types import HEADING_SEPARATOR, Leg, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.reports import Excerpt, Failure, Recalled, Report
    from recollect.types import Degradation, Hit, Results, Trace

    Json = Mapping[str, object]
    Line = tuple[str, str]
    """A line of text and the name of its style."""

_DIGITS = 4  # beyond this a score is noise
_CENT = 0.01


def results_json(results: Results) -> Json:
    """Return the contract of `search --json`."""
    return {
        "results": [hit_json(hit) for hit in results.hits],
        "query": results.query,
        "mode": results.mode.value,
        "provider": results.provider,
        "model": results.model,
        "fusion": results.fusion,
        "degraded": _degraded(results.degraded),
        "confident": results.confident,
        "notices": list(results.notices),
        "tookMs": round(results.took_ms, 1),
    }


def hit_json(hit: Hit) -> Json:
    """Return one result of `search --json`."""
    shape: dict[str, object] = {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, _DIGITS),
        "vectorScore": _rounded(hit.vector_score),
        "textScore": _rounded(hit.text_score),
        "snippet": hit.snippet,
        "source": hit.source.value,
        "citation": hit.citation,
        "heading": list(hit.heading),
        "date": hit.date.isoformat() if hit.date else None,
    }
    if hit.speaker is not None:
        shape["speaker"] = hit.speaker
        shape["time"] = hit.moment
    if hit.fact is not None:
        shape["fact"] = {
            "id": hit.fact.id,
            "scope": hit.fact.scope,
            "validFrom": hit.fact.since.isoformat() if hit.fact.since else None,
            "validUntil": hit.fact.until.isoformat() if hit.fact.until else None,
            "supersededBy": hit.fact.superseded_by or None,
        }
    if hit.superseded_by is not None:
        shape["supersededBy"] = hit.superseded_by
    if hit.trace is not None:
        shape["explain"] = trace_json(hit.trace)
    return shape


def trace_json(trace: Trace) -> Json:
    """Return the explanation of a score: legs, source, exactness, decay and rerank add up."""
    return {
        "legs": {
            name: {
                "rank": leg.rank,
                "raw": leg.raw,
                "normalised": leg.normalised,
                "contribution": leg.contribution,
            }
            for name, leg in trace.legs.items()
        },
        "source": trace.source,
        "exact": trace.exact,
        "decay": trace.decay,
        "rerank": trace.rerank,
        "ageDays": trace.age_days,
        "similarity": trace.similarity,
        "place": trace.place,
    }


def report_json(report: Report) -> Json:
    """Return the contract of `index --json`."""
    return {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "failed": [failure_json(failure) for failure in report.failed],
        "chunks": report.chunks,
        "embedded": report.embedded,
        "reused": report.reused,
        "tokens": report.tokens,
        "estimatedCost": None if report.cost is None else round(report.cost, 6),
        "pending": report.pending,
        "degraded": _degraded(report.degraded),
        "notices": list(report.notices),
        "tookMs": round(report.took_ms, 1),
    }


def excerpt_json(excerpt: Excerpt) -> Json:
    """Return the contract of `get --json`."""
    return {
        "path": excerpt.path,
        "from": excerpt.start_line,
        "lines": excerpt.lines,
        "text": excerpt.text,
        "truncated": excerpt.next_line is not None,
        "nextFrom": excerpt.next_line,
    }


def recalled_json(recalled: Recalled) -> Json:
    """Return the contract of `recall --json`."""
    return {
        "block": recalled.block,
        "tokens": recalled.tokens,
        "citations": [hit.citation for hit in recalled.hits],
        "notices": list(recalled.results.notices),
    }


def results_text(results: Results) -> Iterator[Line]:
    """Yield what `search` prints: one block a hit."""
    if not results.hits:
        yield "No matches.", ""
    for hit in results.hits:
        yield f"{hit.score:.3f} {hit.path}:{hit.start_line}-{hit.end_line}", "bold"
        if hit.speaker:
            yield f"{hit.speaker}, {hit.moment}", "cyan"
        if hit.fact is not None and hit.fact.superseded_by:
            yield f"superseded by {hit.fact.superseded_by}", "yellow"
        if hit.superseded_by:
            yield f"outdated: superseded by {hit.superseded_by}", "yellow"
        if hit.heading:
            yield HEADING_SEPARATOR.join(hit.heading), "cyan"
        if hit.trace is not None:
            yield from trace_text(hit.trace)
        for line in hit.snippet.split("\n"):
            yield line, ""
        yield "", ""


def trace_text(trace: Trace) -> Iterator[Line]:
    """Yield why a hit has its score."""
    for name, leg in trace.legs.items():
        numbers = f"rank {leg.rank}, raw {leg.raw:.3f}, normalised {leg.normalised:.3f}"
        yield f"  {name:8} +{leg.contribution:.3f}  {numbers}", "dim"
    if trace.source:
        yield f"  source   {trace.source:+.3f}", "dim"
    if trace.exact:
        yield f"  exact    {trace.exact:+.3f}", "dim"
    if trace.decay:
        yield f"  decay    {trace.decay:+.3f}  {trace.age_days} days old", "dim"
    if trace.rerank:
        yield f"  rerank   {trace.rerank:+.3f}", "dim"
    if trace.similarity is not None:
        yield f"  similarity to the hits above {trace.similarity:.3f}", "dim"


def results_remarks(results: Results) -> Iterator[Line]:
    """Yield what the user should know besides the hits."""
    for notice in results.notices:
        yield notice, "yellow"
    for leg, why in (results.degraded or {}).items():
        yield f"{_what_failed(leg, results)}: {why.reason}", "yellow"
        yield f"  → {why.action}", "yellow"
    if results.hits and not results.confident:
        yield "Nothing found stands out: this may not be in memory.", "yellow"


def _what_failed(leg: str, results: Results) -> str:
    if leg == "rerank":
        return "Not reranked"
    if leg == "hyde":
        return "No answer was imagined"
    if leg == "expand":
        return "The question was not reworded"
    if leg == Leg.VECTOR and results.mode is not Mode.KEYWORD:
        return "The provider that is set did not answer"
    return f"The {leg} leg did not run"


def report_text(report: Report) -> Iterator[Line]:
    """Yield what `index` prints."""
    if not (report.added or report.changed or report.moved or report.unchanged):
        yield "No memory files found; nothing indexed. Name a workspace with -w.", ""
    else:
        counts = {
            "added": report.added,
            "changed": report.changed,
            "moved": report.moved,
            "removed": report.removed,
            "unchanged": report.unchanged,
            "failed": sum(not failure.is_entry for failure in report.failed),
        }
        yield ", ".join(f"{count} {name}" for name, count in counts.items()), ""
        if entries := sum(failure.is_entry for failure in report.failed):
            yield f"{entries} {'line' if entries == 1 else 'lines'} of facts to correct", ""
        reused = f", {report.reused} from the cache" if report.reused else ""
        embedded = f"{report.embedded} embedded now{reused}, {report.pending} waiting"
        yield f"{report.chunks} chunks, {embedded}", ""
        if report.cost is not None:
            yield f"about {report.tokens} tokens, {price_text(report.cost)}", ""


def price_text(dollars: float) -> str:
    """Return an estimated price as people read it."""
    return f"about ${dollars:.2f}" if dollars >= _CENT else "less than a cent"


def report_remarks(report: Report) -> Iterator[Line]:
    """Yield what went wrong while indexing, with what to do."""
    for notice in report.notices:
        yield notice, "yellow"
    for failure in report.failed:
        yield f"{failure.path}: {failure.reason}", "yellow"
        yield f"  → {failure.action}", "yellow"
    for why in (report.degraded or {}).values():
        is_new = report.pending == report.chunks and not report.embedded
        what = "Indexed for keyword search only" if is_new else "Not all is embedded"
        yield f"{what}: {why.reason}", "yellow"
        yield f"  → {why.action}", "yellow"


def _degraded(degraded: Mapping[str, Degradation] | None) -> Json | None:
    if not degraded:
        return None
    return {"legs": {leg: why_json(why) for leg, why in degraded.items()}}


def why_json(why: Degradation) -> Json:
    """Return a reason with what to do about it."""
    return {"reason": why.reason, "action": why.action}


def failure_json(failure: Failure) -> Json:
    """Return a file that could not be taken in."""
    return {"path": failure.path, "reason": failure.reason, "action": failure.action}


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _DIGITS)
