"""Records as JSON and as text: the only place where answers get their outward shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.types import (
        Check,
        Degradation,
        Excerpt,
        Failure,
        Hit,
        Report,
        Results,
        Status,
        Trace,
    )

    Json = Mapping[str, object]
    Line = tuple[str, str]
    """A line of text and the name of its style."""

_DIGITS = 4  # beyond this a score is noise
_NAMED = 5  # stale files named before the rest is only counted


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
    if hit.trace is not None:
        shape["explain"] = trace_json(hit.trace)
    return shape


def trace_json(trace: Trace) -> Json:
    """Return the explanation of a score: contributions, exactness, decay and rerank add up."""
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
        "failed": [_failure(failure) for failure in report.failed],
        "chunks": report.chunks,
        "embedded": report.embedded,
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


def status_json(status: Status) -> Json:
    """Return the contract of `status --json`."""
    store = status.store
    probe = status.probe
    return {
        "workspace": status.workspace,
        "agent": status.agent,
        "index": {
            "path": store.location,
            "bytes": store.size_bytes,
            "writable": store.is_writable,
            "documents": store.documents,
            "chunks": store.chunks,
            "bySource": {
                source: {"documents": documents, "chunks": chunks}
                for source, (documents, chunks) in store.by_source.items()
            },
        },
        "provider": {
            "requested": status.requested_provider,
            "name": status.provider,
            "model": status.model,
            "dimensions": status.dimensions,
            "skipped": {name: _why(why) for name, why in status.skipped.items()},
        },
        "legs": {
            "keyword": {"chunks": store.chunks},
            "vector": {
                "engine": store.engine,
                "chunks": store.vectors,
                "pending": store.pending,
                "cached": store.cached,
            },
        },
        "stale": {
            "changed": list(status.staleness.changed),
            "gone": list(status.staleness.gone),
            "failed": [_failure(failure) for failure in status.staleness.failed],
        },
        "probe": None
        if probe is None
        else {
            "works": probe.works,
            "tookMs": round(probe.took_ms, 1),
            **({} if probe.degradation is None else _why(probe.degradation)),
        },
        "notices": list(status.notices),
    }


def checks_json(checks: Sequence[Check]) -> Json:
    """Return the contract of `doctor --json`."""
    return {
        "ok": all(check.works for check in checks),
        "checks": [
            {
                "name": check.name,
                "ok": check.works,
                "detail": check.detail,
                "action": check.action,
            }
            for check in checks
        ],
    }


def results_text(results: Results) -> Iterator[Line]:
    """Yield what `search` prints: one block a hit."""
    if not results.hits:
        yield "No matches.", ""
    for hit in results.hits:
        yield f"{hit.score:.3f} {hit.path}:{hit.start_line}-{hit.end_line}", "bold"
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
        what = "Not reranked" if leg == "rerank" else f"The {leg} leg did not run"
        yield f"{what}: {why.reason}", "yellow"
        yield f"  → {why.action}", "yellow"
    if results.hits and not results.confident:
        yield "Nothing found stands out: this may not be in memory.", "yellow"


def report_text(report: Report) -> Iterator[Line]:
    """Yield what `index` prints."""
    if not (report.added or report.changed or report.moved or report.unchanged):
        yield "No memory files found; nothing indexed.", ""
    else:
        counts = {
            "added": report.added,
            "changed": report.changed,
            "moved": report.moved,
            "removed": report.removed,
            "unchanged": report.unchanged,
            "failed": len(report.failed),
        }
        yield ", ".join(f"{count} {name}" for name, count in counts.items()), ""
        yield (
            f"{report.chunks} chunks, {report.embedded} embedded now, {report.pending} waiting",
            "",
        )


def report_remarks(report: Report) -> Iterator[Line]:
    """Yield what went wrong while indexing, with what to do."""
    for notice in report.notices:
        yield notice, "yellow"
    for failure in report.failed:
        yield f"{failure.path}: {failure.reason}", "yellow"
        yield f"  → {failure.action}", "yellow"
    for why in (report.degraded or {}).values():
        yield f"Indexed for keyword search only: {why.reason}", "yellow"
        yield f"  → {why.action}", "yellow"


def sync_remarks(report: Report) -> Iterator[Line]:
    """Yield what a search should say of the sync before it: trouble only."""
    for notice in report.notices:
        yield notice, "yellow"
    for failure in report.failed:
        yield f"{failure.path} is not up to date: {failure.reason}", "yellow"
        yield f"  → {failure.action}", "yellow"


def status_text(status: Status) -> Iterator[Line]:
    """Yield what `status` prints."""
    store = status.store
    yield f"Workspace  {status.workspace}", ""
    yield f"Agent      {status.agent}", ""
    access = "" if store.is_writable else ", read-only"
    yield f"Index      {store.location} ({store.size_bytes / 1e6:.1f} MB{access})", ""
    yield f"Indexed    {store.documents} files, {store.chunks} chunks", ""
    for source, (documents, chunks) in store.by_source.items():
        yield f"           {source}: {documents} files, {chunks} chunks", "dim"
    model = f", {status.model}, {status.dimensions} dimensions" if status.model else ""
    yield f"Provider   {status.provider or 'none'} (asked: {status.requested_provider}){model}", ""
    for name, why in status.skipped.items():
        yield f"           {name} not taken: {why.reason}", "yellow"
        yield f"           → {why.action}", "yellow"
    counts = f"{store.vectors} chunks embedded, {store.pending} waiting, {store.cached} cached"
    yield f"Vectors    {counts} ({store.engine})", ""
    if store.pending:
        yield "           → `recollect index` embeds what is waiting.", "dim"
    yield from _staleness_text(status)
    if status.probe is not None:
        outcome = "works" if status.probe.works else "no embedding"
        yield f"Probe      {outcome} ({status.probe.took_ms:.0f} ms)", ""
    for notice in status.notices:
        yield notice, "yellow"


def _staleness_text(status: Status) -> Iterator[Line]:
    stale = status.staleness
    if not stale.is_stale:
        yield "Stale      no", ""
    else:
        yield f"Stale      {len(stale.changed)} new or changed, {len(stale.gone)} gone", "yellow"
        named = (*stale.changed, *stale.gone)
        for path in named[:_NAMED]:
            yield f"           {path}", "dim"
        if len(named) > _NAMED:
            yield f"           … and {len(named) - _NAMED} more", "dim"
        yield "           → `recollect index` brings the index up to date.", "dim"
    for failure in stale.failed:
        yield f"           {failure.path}: {failure.reason}", "yellow"
        yield f"           → {failure.action}", "yellow"


def checks_text(checks: Sequence[Check]) -> Iterator[Line]:
    """Yield what `doctor` prints."""
    for check in checks:
        yield (
            f"{'ok  ' if check.works else 'FAIL'} {check.name}: {check.detail}",
            ("" if check.works else "bold red"),
        )
        if check.action and not check.works:
            yield f"     → {check.action}", "red"


def _degraded(degraded: Mapping[str, Degradation] | None) -> Json | None:
    if not degraded:
        return None
    return {"legs": {leg: _why(why) for leg, why in degraded.items()}}


def _why(why: Degradation) -> Json:
    return {"reason": why.reason, "action": why.action}


def _failure(failure: Failure) -> Json:
    return {"path": failure.path, "reason": failure.reason, "action": failure.action}


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _DIGITS)
