"""What `status` and `doctor` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.shared import plural, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.reports import (
        AgentStatus,
        Amount,
        CacheStatus,
        Check,
        FoundSecret,
        IndexStatus,
        Status,
    )
    from recollect.shells.render.shared import Line
    from recollect.types import Degradation

_LISTED = 5  # stale files
_INDENT = " " * 11


def status_text(status: Status) -> Iterator[Line]:
    """Yield what `status` prints."""
    index, provider, vector = status.index, status.provider, status.legs.vector
    yield f"Workspace  {status.workspace}", ""
    yield f"Agent      {status.agent}", ""
    access = "" if index.is_writable else ", read-only"
    yield f"Index      {index.location} ({index.size_bytes / 1e6:.1f} MB{access})", ""
    yield f"Indexed    {_size(index)}", ""
    for source, amount in index.by_source.items():
        yield f"{_INDENT}{source}: {_size(amount)}", "dim"
    model = f", {provider.model}, {provider.dimensions} dimensions" if provider.model else ""
    configured = f"(configured: {provider.requested})"
    yield f"Provider   {provider.name or 'none'} {configured}{model}", ""
    if provider.second_model:
        yield f"{_INDENT}{provider.second_model} for notes in other scripts", "dim"
    if provider.pending_later:
        waiting = f"{plural(provider.pending_later, 'chunk')} waiting for it"
        yield f"{_INDENT}{waiting}, to be found by questions in other scripts", "dim"
    yield from _skipped_text(provider.skipped)
    counts = f"{vector.chunks} chunks embedded, {vector.pending} waiting"
    yield f"Vectors    {counts} ({vector.engine})", ""
    if vector.pending:
        yield f"{_INDENT}→ {status.at_work or '`recollect index`'} embeds what is waiting.", "dim"
    if vector.served_from not in (None, vector.space):
        yield f"{_INDENT}until all are, searches use {vector.served_from}", "yellow"
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


def _size(held: IndexStatus | Amount | AgentStatus) -> str:
    return f"{plural(held.documents, 'file')}, {plural(held.chunks, 'chunk')}"


def _skipped_text(skipped: Mapping[str, Degradation]) -> Iterator[Line]:
    """Yield why providers of the chain were skipped, those with the same reason in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, why in skipped.items():
        by_reason.setdefault(why.reason, []).append(name)
    for reason, names in by_reason.items():
        text = f"{', '.join(names)}: {reason}"
        if len(names) > 1:
            yield f"{_INDENT}{text}", "dim"
        else:
            yield from warning_lines(text, skipped[names[0]].action, indent=_INDENT)


def _staleness_text(status: Status) -> Iterator[Line]:
    stale = status.stale
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


def agents_text(agents: Sequence[AgentStatus]) -> Iterator[Line]:
    """Yield what `status --all` prints."""
    if not agents:
        yield "There are no indexes yet.", ""
    for each in agents:
        gone = "" if each.exists or each.workspace is None else " (gone)"
        held = "cannot be read" if each.problem else _size(each)
        yield f"{each.agent}  {held}, {each.size_bytes / 1e6:.1f} MB", "bold"
        if each.problem:
            yield f"  {each.problem}", "yellow"
            continue
        yield f"  {each.workspace or 'unknown workspace'}{gone}", "dim"
        if gone:
            yield f"  → `recollect reset {each.agent} --yes` deletes its index.", "dim"
