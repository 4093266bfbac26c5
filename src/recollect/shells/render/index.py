"""What `index` and `doctor --verify` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shape import json_of
from recollect.shells.render.shared import plural, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.reports import Report, Verification
    from recollect.shape import Json
    from recollect.shells.render.shared import Line


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
