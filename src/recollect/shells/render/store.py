"""Databases and copies of memories, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.render.shared import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.reports import BuiltIndexes, CopiedMemory, DatabaseStatus


def database_text(status: DatabaseStatus) -> str:
    """Return the lines of `server status`."""
    state = "up to date" if status.version == status.newest else "run `recollect server migrate`"
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
    """Return the lines of `server init` and `server migrate`."""
    done = f"Applied: {', '.join(applied)}." if applied else "The tables were up to date."
    role = f"Agents need their own role: CREATE ROLE … LOGIN IN ROLE {status.groups['agents']}"
    return f"{done}\n{role}\n{database_text(status)}"


def indexed_text(done: BuiltIndexes) -> str:
    """Return the line of `server index`."""
    return f"Vector indexes: {done.built} built, {done.dropped} dropped."


def copied_text(copied: CopiedMemory, *, agent: str) -> str:
    """Return the line of `server copy`."""
    documents, chunks = plural(copied.documents, "document"), plural(copied.chunks, "chunk")
    vectors = plural(copied.vectors, "vector")
    return f"Copied {agent}: {documents}, {chunks}, {vectors}. The copy is the same."
