"""What `status`, `doctor` and `cache` say: one JSON shape and one text form each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.search import failure_json, why_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.reports import AgentStatus, CacheStatus, Check, Status, Verification
    from recollect.shells.render.search import Json, Line

_NAMED = 5  # stale files listed by name


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
            "skipped": {name: why_json(why) for name, why in status.skipped.items()},
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
            **({} if probe.degradation is None else why_json(probe.degradation)),
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
    yield from _skipped_text(status)
    counts = f"{store.vectors} chunks embedded, {store.pending} waiting"
    yield f"Vectors    {counts} ({store.engine})", ""
    if store.pending:
        yield "           → `recollect index` embeds what is waiting.", "dim"
    if status.published is not None and status.published != status.fingerprint:
        yield f"           searches are served from {status.published} until all are", "yellow"
    if status.cache is not None:
        held, limit = status.cache.size_bytes / 1e6, status.cache.max_bytes / 1e6
        yield f"Cache      {status.cache.vectors} vectors, {held:.1f} of {limit:.0f} MB", ""
    yield from _staleness_text(status)
    if status.probe is not None:
        outcome = "works" if status.probe.works else "no embedding"
        yield f"Probe      {outcome} ({status.probe.took_ms:.0f} ms)", ""
        if status.probe.degradation is not None:
            yield f"           {status.probe.degradation.reason}", "yellow"
            yield f"           → {status.probe.degradation.action}", "yellow"
    for notice in status.notices:
        yield notice, "yellow"


def _skipped_text(status: Status) -> Iterator[Line]:
    """Yield why providers of the chain were not taken: what failed in full, the rest in a line."""
    by_reason: dict[str, list[str]] = {}
    for name, why in status.skipped.items():
        by_reason.setdefault(why.reason, []).append(name)
    for reason, names in by_reason.items():
        is_alone = len(names) == 1
        yield f"           {', '.join(names)} not taken: {reason}", "yellow" if is_alone else "dim"
        if is_alone:
            yield f"           → {status.skipped[names[0]].action}", "yellow"


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
        yield f"{dropped} vectors dropped", ""
    if cache is None:
        yield "There is no embedding cache yet.", ""
    else:
        held, limit = cache.size_bytes / 1e6, cache.max_bytes / 1e6
        yield f"{cache.vectors} vectors, {held:.1f} of {limit:.0f} MB in {cache.location}", ""


def verification_json(verification: Verification) -> Json:
    """Return the contract of `verify --json`."""
    return {
        "ok": not verification.differences,
        "files": verification.files,
        "chunks": verification.chunks,
        "vectors": verification.vectors,
        "pending": verification.pending,
        "differences": [
            {"path": each.path, "reason": each.reason, "action": each.action}
            for each in verification.differences
        ],
        "notices": list(verification.notices),
    }


def verification_text(verification: Verification) -> Iterator[Line]:
    """Yield what `verify` prints."""
    for notice in verification.notices:
        yield notice, "yellow"
    for each in verification.differences:
        yield f"{each.path}: {each.reason}", "bold red"
        yield f"  → {each.action}", "red"
    counts = f"{verification.files} files, {verification.chunks} chunks"
    waiting = f", {verification.pending} of them not embedded yet" if verification.pending else ""
    if not verification.differences:
        yield f"The index equals the files: {counts}{waiting}.", ""
    else:
        yield f"{len(verification.differences)} differences in {counts}{waiting}.", "bold"


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
        yield "No agent has an index in this home yet.", ""
    for each in agents:
        gone = "" if each.exists or each.workspace is None else " (gone)"
        size = f"{each.documents} files, {each.chunks} chunks, {each.size_bytes / 1e6:.1f} MB"
        yield f"{each.agent}  {size}", "bold"
        yield f"  {each.workspace or 'workspace not known'}{gone}", "dim"
        if gone:
            yield f"  → `recollect agents remove {each.agent} --yes` deletes its index.", "dim"
        if each.problem:
            yield f"  {each.problem}", "yellow"
