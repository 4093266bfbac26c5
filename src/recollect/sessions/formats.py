"""The formats of transcripts: telling them apart, their readers, and what the first rows say.

A new format is a reader's file, a row here and a layout in `find`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recollect.sessions.claude_code import ClaudeCodeReader
from recollect.sessions.codex import CodexReader
from recollect.sessions.openclaw import OpenClawReader
from recollect.sessions.rows import mapping, moment_of, string
from recollect.sessions.turn import Format

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.sessions.rows import Row
    from recollect.sessions.turn import Transcript

_OPENCLAW_TYPES = frozenset(
    {
        "session",
        "session-meta",
        "session_info",
        "custom",
        "custom_message",
        "compaction",
        "reset",
        "branch_summary",
        "model_change",
        "thinking_level_change",
        "label",
    }
)
_CODEX_TYPES = frozenset(
    {"session_meta", "turn_context", "event_msg", "response_item", "compacted"}
)


class Reader(Protocol):
    """Takes in a transcript line by line."""

    def take(self, number: int, line: str) -> None:
        """Take in the next line."""

    def transcript(self) -> Transcript:
        """Return what was read so far."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the first rows of a transcript tell."""

    format: Format
    session_id: str = ""
    cwd: str | None = None
    """Folder it was held in."""
    started: datetime | None = None
    agent: str | None = None
    """OpenClaw's agent in whose folder it is."""
    project: str | None = None
    """Claude Code's folder it is in: the slug of where it was held."""


def reader_of(form: Format, *, is_archive: bool) -> Reader:
    """Return a reader that has read nothing yet."""
    match form:
        case Format.OPENCLAW:
            return OpenClawReader(is_archive=is_archive)
        case Format.CLAUDE_CODE:
            return ClaudeCodeReader()
        case Format.CODEX:
            return CodexReader()


def format_of(row: Row) -> Format | None:
    """Return the format a row is of; None when it could be of any."""
    kind = string(row, "type")
    if kind in _CODEX_TYPES and mapping(row, "payload"):
        return Format.CODEX
    if kind == "message":
        return Format.OPENCLAW if mapping(row, "message") else Format.CODEX
    if "leafUuid" in row or "sessionId" in row:
        return Format.CLAUDE_CODE
    if kind in ("user", "assistant") and mapping(row, "message"):
        return Format.CLAUDE_CODE
    if kind in _OPENCLAW_TYPES:
        return Format.OPENCLAW
    is_old_codex = not kind and string(row, "id") and "instructions" in row
    return Format.CODEX if is_old_codex else None


def header_of(row: Row, form: Format) -> Header | None:
    """Return what a row tells of the whole transcript; None when it is not the row that does."""
    match form:
        case Format.OPENCLAW if row.get("type") == "session":
            place, session_id = row, string(row, "id")
        case Format.CLAUDE_CODE if string(row, "cwd"):
            place, session_id = row, string(row, "sessionId")
        case Format.CODEX if row.get("type") == "session_meta":
            place = mapping(row, "payload")
            session_id = string(place, "id")
        case _:
            return None
    cwd = string(place, "cwd") or None
    return Header(form, session_id, cwd, moment_of(place.get("timestamp"), row.get("timestamp")))
