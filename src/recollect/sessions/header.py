"""Tells the format of a transcript, and whether it belongs to a workspace, from its first rows.

The rest of the file is not read.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.sessions.clean import flatten
from recollect.sessions.names import COMPRESSED, slug_of
from recollect.sessions.read import open_transcript
from recollect.sessions.rows import mapping, row_of, string
from recollect.sessions.transcript import TranscriptFormat

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.rows import Row

_HEADER_BYTES = 1024 * 1024
_HEADER_ROWS = 64
"""A transcript says what it is within both limits, if at all."""

_MAX_SLUG_CHARS = 200
"""Claude Code cuts longer names of project folders and adds a hash."""

_OPENCLAW_TYPES = frozenset({
    "session", "session-meta", "session_info", "custom", "custom_message", "compaction", "reset",
    "branch_summary", "model_change", "thinking_level_change", "label",
})  # fmt: skip
_EXPORTED = frozenset({TranscriptFormat.CHATGPT, TranscriptFormat.CLAUDE_AI})
"""Formats of `export`, whose first row names them."""
_CODEX_TYPES = frozenset(
    {"session_meta", "turn_context", "event_msg", "response_item", "compacted"}
)


@dataclass(frozen=True, slots=True)
class Header:
    """What the first rows of a transcript say."""

    format: TranscriptFormat
    cwd: str | None = None
    """Working folder of the conversation."""


def format_of(row: Row) -> TranscriptFormat | None:
    """Return the format of a row; None if it could be of any."""
    if (exported := string(row, "export")) in _EXPORTED:
        return TranscriptFormat(exported)
    kind = string(row, "type")
    if kind in _CODEX_TYPES and mapping(row, "payload"):
        return TranscriptFormat.CODEX
    if kind == "message":
        return TranscriptFormat.OPENCLAW if mapping(row, "message") else TranscriptFormat.CODEX
    is_message = kind in ("user", "assistant") and bool(mapping(row, "message"))
    if "leafUuid" in row or "sessionId" in row or is_message:
        return TranscriptFormat.CLAUDE_CODE
    if kind in _OPENCLAW_TYPES:
        return TranscriptFormat.OPENCLAW
    is_old_codex = not kind and string(row, "id") and "instructions" in row
    return TranscriptFormat.CODEX if is_old_codex else None


def header_of(row: Row, form: TranscriptFormat) -> Header | None:
    """Return what a row says about the whole transcript; None if it is not the header row."""
    match form:
        case TranscriptFormat.OPENCLAW if row.get("type") == "session":
            cwd = string(row, "cwd")
        case TranscriptFormat.CLAUDE_CODE if string(row, "cwd"):
            cwd = string(row, "cwd")
        case TranscriptFormat.CODEX if row.get("type") == "session_meta":
            cwd = string(mapping(row, "payload"), "cwd")
        case _:
            return None
    return Header(form, cwd or None)


def read_header(file: Path, *, form: TranscriptFormat | None = None) -> Header | None:
    """Return what the first rows of a file tell; None if they are in no known format.

    Args:
        file: the transcript. A compressed one is identified by its name.
        form: its format, if known.

    Raises:
        OSError: it cannot be read.

    """
    if file.name.endswith(COMPRESSED):
        return Header(TranscriptFormat.OPENCLAW)  # no other agent compresses
    room = _HEADER_BYTES
    with open_transcript(file) as stream:
        for _ in range(_HEADER_ROWS):
            line = stream.readline(room)
            room -= len(line)
            row = row_of(line)
            if row is None:
                continue
            form = form or format_of(row)
            if form is not None and (header := header_of(row, form)) is not None:
                return header
    return Header(form) if form is not None else None


def title_of(found: FoundTranscript) -> str:
    """Return the title of an exported conversation; empty for other transcripts.

    Raises:
        OSError: the file cannot be read.

    """
    if found.format not in _EXPORTED:
        return ""
    with open_transcript(found.file) as stream:
        row = row_of(stream.readline(_HEADER_BYTES)) or {}
    return flatten(string(row, "title") or string(row, "name"))


def is_of_workspace(found: FoundTranscript, *, workspace: Path, agent: str | None) -> bool:
    """Return whether a transcript is part of a workspace's memory.

    An OpenClaw transcript is if its agent is the given one. Without an agent, and for the other
    formats, it is if the conversation took place in the workspace or below it. The file is opened
    only if its folder does not decide.

    Args:
        found: the transcript.
        workspace: the folder.
        agent: OpenClaw agent of that workspace, if it has one.

    Raises:
        OSError: the file had to be read and cannot be.

    """
    if found.agent is not None and agent is not None:
        return found.agent.casefold() == agent.casefold()
    places = (workspace.absolute(), workspace.resolve())
    slugs = [slug_of(place) for place in places]
    is_claude = found.format is TranscriptFormat.CLAUDE_CODE
    project = found.file.parent.name
    # Not a proof: the folder `app/two` has the same slug as a sibling of `app` named `app-two`.
    if is_claude and not any(project.startswith(slug[:_MAX_SLUG_CHARS]) for slug in slugs):
        return False
    if found.session:
        header: Header | None = Header(found.format, found.cwd)
    else:
        header = read_header(found.file, form=found.format)
    if header is None or header.cwd is None:
        return header is not None and is_claude and project in slugs
    cwds = (PurePath(header.cwd), PurePath(os.path.realpath(header.cwd)))
    return any(cwd.is_relative_to(place) for cwd in cwds for place in places)
