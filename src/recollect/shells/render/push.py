"""What was pushed, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.shared import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.hosting.push import PushReport


def push_text(report: PushReport, *, dry_run: bool) -> str:
    """Return what changed, in a sentence."""
    sent = plural(report.sent, "document")
    would = "would be sent" if dry_run else "sent"
    return f"{sent} {would}, {report.deleted} deleted, {report.unchanged} unchanged."


def push_remarks(report: PushReport) -> Iterator[tuple[str, str]]:
    """Yield what was not sent, and in how many documents secrets were hidden."""
    if report.redacted:
        yield f"Secrets were masked in {plural(report.redacted, 'document')}.", "yellow"
    for each in report.failed:
        yield each.notice, "yellow"
