"""What `index`, `status` and `doctor` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shape import json_of
from recollect.shells.render.shared import plural, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recollect.reports import (
        AgentStatus,
        Amount,
        Check,
        FoundSecret,
        IndexStatus,
        Report,
        Status,
        Verification,
    )
    from recollect.shape import Json
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
    yield f"Tokens     about {index.tokens:,}{_cost(status.recalls)}", ""
    model = f", {provider.model}, {provider.dimensions} dimensions" if provider.model else ""
    configured = f"(configured: {provider.requested})"
    for name, amount in status.also.items():
        yield f"Also       {name}: {_size(amount)}", ""
    if status.checkouts:
        yield f"Worktrees  {', '.join(status.checkouts)}", ""
    yield f"Provider   {provider.name or 'none'} {configured}{model}", ""
    yield from _skipped_text(provider.skipped)
    counts = f"{vector.chunks} chunks embedded, {vector.pending} waiting"
    yield f"Vectors    {counts} ({vector.engine})", ""
    if vector.pending:
        yield f"{_INDENT}→ {status.at_work or '`recollect index`'} embeds what is waiting.", "dim"
    if vector.served_from not in (None, vector.space):
        yield f"{_INDENT}until all are, searches use {vector.served_from}", "yellow"
    if (cache := status.cache) is not None:
        size, limit = cache.size_bytes / 1e6, cache.max_bytes / 1e6
        yield f"Cache      {cache.vectors} vectors, {size:.1f} of {limit:.0f} MB", ""
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


def _cost(recalls: Sequence[int]) -> str:
    if not recalls:
        return ""
    mean = round(sum(recalls) / len(recalls))
    return f"; the last {plural(len(recalls), 'recall')} took {mean} on average"


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


def outcome_json(report: Report) -> Json:
    """Return the report without its counts, which are of all scopes together."""
    told = json_of(report)
    return {name: told[name] for name in ("failed", "degraded", "notices", "tookMs")}


def report_text(report: Report) -> Iterator[Line]:
    """Yield what `index` prints."""
    if not (report.added or report.changed or report.moved or report.unchanged):
        yield "No notes found, so nothing is indexed. Name a workspace with -w.", ""
        return
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
        yield f"{plural(entries, 'line')} to correct", ""
    reused = f", {report.reused} from the cache" if report.reused else ""
    embedded = f"{report.embedded} embedded now{reused}, {report.pending} waiting"
    yield f"{plural(report.chunks, 'chunk')}, {embedded}", ""


def report_remarks(report: Report) -> Iterator[Line]:
    """Yield what went wrong while indexing, and what to do."""
    for notice in report.notices:
        yield notice, "yellow"
    for failure in report.failed:
        yield from warning_lines(failure.summary, failure.action)
    for why in (report.degraded or {}).values():
        is_new = report.pending == report.chunks and not report.embedded
        what = "Indexed for keyword search only" if is_new else "Not everything is embedded"
        yield from warning_lines(f"{what}: {why.reason}", why.action)


def verification_text(verification: Verification) -> Iterator[Line]:
    """Yield what `doctor --verify` prints."""
    for notice in verification.notices:
        yield notice, "yellow"
    for each in verification.differences:
        yield f"{each.path}: {each.reason}", "bold red"
        yield f"  → {each.action}", "red"
    counts = f"{plural(verification.files, 'file')}, {plural(verification.chunks, 'chunk')}"
    waiting = f", {verification.pending} of them not embedded yet" if verification.pending else ""
    if not verification.differences:
        yield f"The index matches the files: {counts}{waiting}.", ""
    else:
        yield f"{plural(len(verification.differences), 'difference')} in {counts}{waiting}.", "bold"
