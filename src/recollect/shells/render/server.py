"""What the commands of `server` print: databases, tokens, what was pushed."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from recollect.shells.render.shared import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.hosting.push import PushReport
    from recollect.hosting.tokens import Token
    from recollect.reports import BuiltIndexes, DatabaseStatus


def database_text(status: DatabaseStatus) -> str:
    """Return the lines of `server status`."""
    state = "up to date" if status.version == status.newest else "run `recollect server init`"
    lines = [
        f"Database:   {status.location}",
        f"Server:     PostgreSQL {status.server}",
        *(f"Extension:  {name} {version}" for name, version in status.extensions.items()),
        f"Tables:     version {status.version} of {status.newest}, {state}",
    ]
    if status.rows:
        counts = (f"{count:,} {what}" for what, count in status.rows.items())
        lines.append(f"Rows:       about {', '.join(counts)}")
    lines += [f"Group:      {role} for {who}" for who, role in status.groups.items()]
    if status.has_open_temp:
        lines.append("Warning:    any role may create temporary objects; roles.sql revokes that")
    if not status.is_guarded:
        lines.append("Role:       sees the memories of all agents; give agents another one")
    return "\n".join(lines)


def prepared_text(status: DatabaseStatus, applied: Sequence[str]) -> str:
    """Return the lines of `server init`."""
    done = f"Applied: {', '.join(applied)}." if applied else "The tables were up to date."
    role = f"Agents need their own role: CREATE ROLE … LOGIN IN ROLE {status.groups['agents']}"
    return f"{done}\n{role}\n{database_text(status)}"


def indexed_text(done: BuiltIndexes) -> str:
    """Return the line of `server index`."""
    return f"Vector indexes: {done.built} built, {done.dropped} dropped."


def created_text(token: Token, *, text: str) -> Iterator[tuple[str, str]]:
    """Yield a new token; its secret part is shown this once."""
    yield text, "bold"
    yield f"{_rights(token)}. It is not shown again.", ""


def tokens_text(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield one line per token."""
    if not tokens:
        yield "No tokens. `recollect server tokens create MEMORY` makes one.", ""
    for each in tokens:
        label = f"  {each.label}" if each.label else ""
        yield f"{each.id}  {_rights(each)}{label}", ""


def _rights(token: Token) -> str:
    may = "reads" if token.is_read_only else "reads and writes"
    if token.scopes is not None:
        may += f", facts of {', '.join(['global', *sorted(token.scopes)])}"
    if token.expires is not None:
        may += f", until {token.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{token.agent}: {may}"


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
