"""What `status`, `doctor`, `cache` and `agents` print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from recollect.shells.render.shared import degradation_json, failure_json, plural, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.reports import AgentStatus, CacheStatus, Check, FoundSecret, Status
    from recollect.shells.render.shared import Json, Line

_LISTED = 5  # stale files
_INDENT = " " * 11


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
            "secondModel": status.second_model,
            "secondPending": status.second_pending,
            "skipped": {name: degradation_json(why) for name, why in status.skipped.items()},
        },
        "legs": {
            "keyword": {"chunks": store.chunks},
            "vector": {
                "engine": store.engine,
                "chunks": store.vectors,
                "pending": store.pending,
                "space": status.fingerprint,
                "servedFrom": status.published,
            },
        },
        "cache": None if status.cache is None else cache_json(status.cache),
        "stale": {
            "changed": list(status.staleness.changed),
            "gone": list(status.staleness.gone),
            "failed": [failure_json(failure) for failure in status.staleness.failed],
        },
        "probe": None
        if probe is None
        else {
            "works": probe.works,
            "tookMs": round(probe.took_ms, 1),
            **({} if probe.degradation is None else degradation_json(probe.degradation)),
        },
        "atWork": status.at_work,
        "notices": list(status.notices),
    }


def checks_json(checks: Sequence[Check], secrets: Sequence[FoundSecret] | None = None) -> Json:
    """Return the contract of `doctor --json`; `secrets` None if they were not looked for."""
    found = None if secrets is None else [asdict(each) for each in secrets]
    return {
        **({} if found is None else {"secrets": found}),
        "ok": all(check.works for check in checks),
        "checks": [
            {
                "name": check.name,
                "ok": check.works,
                "warning": check.is_warning,
                "detail": check.detail,
                "action": check.action,
            }
            for check in checks
        ],
    }


def status_text(status: Status) -> Iterator[Line]:
    """Yield what `status` prints."""
    store = status.store
    yield f"Workspace  {status.workspace}", ""
    yield f"Agent      {status.agent}", ""
    access = "" if store.is_writable else ", read-only"
    yield f"Index      {store.location} ({store.size_bytes / 1e6:.1f} MB{access})", ""
    yield f"Indexed    {_size(store.documents, store.chunks)}", ""
    for source, (documents, chunks) in store.by_source.items():
        yield f"{_INDENT}{source}: {_size(documents, chunks)}", "dim"
    model = f", {status.model}, {status.dimensions} dimensions" if status.model else ""
    configured = f"(configured: {status.requested_provider})"
    yield f"Provider   {status.provider or 'none'} {configured}{model}", ""
    if status.second_model:
        yield f"{_INDENT}{status.second_model} for notes in other scripts", "dim"
    if status.second_pending:
        waiting = f"{plural(status.second_pending, 'chunk')} waiting for it"
        yield f"{_INDENT}{waiting}, to be found by questions in other scripts", "dim"
    yield from _skipped_text(status)
    counts = f"{store.vectors} chunks embedded, {store.pending} waiting"
    yield f"Vectors    {counts} ({store.engine})", ""
    if store.pending:
        yield f"{_INDENT}→ {status.at_work or '`recollect index`'} embeds what is waiting.", "dim"
    if status.published is not None and status.published != status.fingerprint:
        yield f"{_INDENT}until all are, searches use {status.published}", "yellow"
    if status.cache is not None:
        yield f"Cache      {_cache_size(status.cache)}", ""
    yield from _staleness_text(status)
    if status.probe is not None:
        outcome = "works" if status.probe.works else "failed"
        yield f"Probe      {outcome} ({status.probe.took_ms:.0f} ms)", ""
        if status.probe.degradation is not None:
            why = status.probe.degradation
            yield from warning_lines(why.reason, why.action, indent=_INDENT)
    for notice in status.notices:
        yield notice, "yellow"


def _size(documents: int, chunks: int) -> str:
    return f"{plural(documents, 'file')}, {plural(chunks, 'chunk')}"


def _skipped_text(status: Status) -> Iterator[Line]:
    """Yield why providers of the chain were skipped, those with the same reason in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, why in status.skipped.items():
        by_reason.setdefault(why.reason, []).append(name)
    for reason, names in by_reason.items():
        text = f"{', '.join(names)}: {reason}"
        if len(names) > 1:
            yield f"{_INDENT}{text}", "dim"
        else:
            yield from warning_lines(text, status.skipped[names[0]].action, indent=_INDENT)


def _staleness_text(status: Status) -> Iterator[Line]:
    stale = status.staleness
    if not stale.is_stale:
        yield "Stale      no", ""
    else:
        yield f"Stale      {len(stale.changed)} new or changed, {len(stale.gone)} gone", "yellow"
        named = (*stale.changed, *stale.gone)
        for path in named[:_LISTED]:
            yield f"{_INDENT}{path}", "dim"
        if len(named) > _LISTED:
            yield f"{_INDENT}… and {len(named) - _LISTED} more", "dim"
        yield f"{_INDENT}→ {status.at_work or '`recollect index`'} updates the index.", "dim"
    for failure in stale.failed:
        yield from warning_lines(failure.summary, failure.action, indent=_INDENT)


def checks_text(checks: Sequence[Check], secrets: Sequence[FoundSecret] = ()) -> Iterator[Line]:
    """Yield what `doctor` prints."""
    for check in checks:
        state, style = _state(check)
        yield f"{state} {check.name}: {check.detail}", f"bold {style}" if style == "red" else style
        if check.action and style:
            yield f"     → {check.action}", style
    for secret in secrets:
        yield f"     {secret.path}:{secret.line}  {secret.kind}", ""


def _state(check: Check) -> tuple[str, str]:
    if not check.works:
        return "FAIL", "red"
    return ("warn", "yellow") if check.is_warning else ("ok  ", "")


def cache_json(cache: CacheStatus | None, *, dropped: int | None = None) -> Json:
    """Return the contract of `cache --json`."""
    shape: dict[str, object] = {
        "path": cache.location if cache else None,
        "vectors": cache.vectors if cache else 0,
        "bytes": cache.size_bytes if cache else 0,
        "maxBytes": cache.max_bytes if cache else 0,
    }
    if dropped is not None:
        shape["dropped"] = dropped
    return shape


def cache_text(cache: CacheStatus | None, *, dropped: int | None = None) -> Iterator[Line]:
    """Yield what `cache` prints."""
    if dropped is not None:
        yield f"{dropped} vectors removed", ""
    if cache is None:
        yield "There is no embedding cache yet.", ""
    else:
        yield f"{_cache_size(cache)} in {cache.location}", ""


def _cache_size(cache: CacheStatus) -> str:
    size, limit = cache.size_bytes / 1e6, cache.max_bytes / 1e6
    return f"{cache.vectors} vectors, {size:.1f} of {limit:.0f} MB"


def agents_json(agents: Sequence[AgentStatus]) -> Json:
    """Return the contract of `agents --json`."""
    return {
        "agents": [
            {
                "agent": each.agent,
                "path": each.location,
                "workspace": each.workspace,
                "workspaceExists": each.exists,
                "documents": each.documents,
                "chunks": each.chunks,
                "bytes": each.size_bytes,
                "problem": each.problem,
            }
            for each in agents
        ]
    }


def agents_text(agents: Sequence[AgentStatus]) -> Iterator[Line]:
    """Yield what `agents` prints."""
    if not agents:
        yield "There are no indexes yet.", ""
    for each in agents:
        gone = "" if each.exists or each.workspace is None else " (gone)"
        held = "cannot be read" if each.problem else _size(each.documents, each.chunks)
        yield f"{each.agent}  {held}, {each.size_bytes / 1e6:.1f} MB", "bold"
        if each.problem:
            yield f"  {each.problem}", "yellow"
            continue
        yield f"  {each.workspace or 'unknown workspace'}{gone}", "dim"
        if gone:
            yield f"  → `recollect agents remove {each.agent} --yes` deletes its index.", "dim"
