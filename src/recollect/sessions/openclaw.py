"""Reading OpenClaw's transcripts: which records are messages, and which of those somebody said.

It knows the records, not the files they are in. Rules and their order are those of OpenClaw's own
memory index, so that both find the same; trust is told by metadata, never by what a text says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.sessions.clean import (
    RECALLED,
    flattened,
    tags,
    without_blocks,
    without_internal_context,
)
from recollect.sessions.envelope import without_envelope, without_reply_tag
from recollect.sessions.registry import reason_of_key
from recollect.sessions.rows import mapping, moment_of, row_of, said, string
from recollect.sessions.turn import Format, Origin, Speaker, Transcript, Turn
from recollect.text.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from recollect.sessions.rows import Row

SYSTEM_ONLY = "only the system speaks to the agent in it"

_SPEAKERS = frozenset(Speaker)
_INTERNAL = "internal_system"
_UNSAID_TOOLS = frozenset({"heartbeat", "memory_search", "memory_get"})
"""What they make the system say would be found again as if it had been said: a recall loop."""

_THOUGHT = tags(("think", "thinking"))
"""Where a model without blocks of its own for it puts what it thinks."""

_SYSTEM_MESSAGE = re.compile(r"System(?: \(untrusted\))?: \[[^\]]+\]")
_CRON_PROMPT = re.compile(r"\[cron:[^\]]+\]")
_HEARTBEAT_PROMPT, _HEARTBEAT_ANSWER = "Read HEARTBEAT.md if it exists", "HEARTBEAT_OK"
_PROMPTS = (
    "[OpenClaw heartbeat poll]",
    "[Internal task completion event]",
    "[Inter-session message]",
    "A new session was started via /new or /reset.",
    "Run the following periodic tasks (only those due based on their intervals):",
)
"""How messages begin that the gateway writes in the user's name."""
_SILENT = re.compile(r"no_reply|\{ ?\"action\" ?: ?\" ?no_reply ?\" ?\}", re.IGNORECASE)
_EXEC_EVENT = re.compile(
    r"(?:System(?: \(untrusted\))?: \[[^\]]+\] )?"
    r"exec (?:finished ?[:(]|(?:completed|failed) \([\w-]{1,64}, (?:code|signal) )",
    re.IGNORECASE,
)


def read_lines(lines: Iterable[tuple[int, str]], *, is_archive: bool = False) -> Transcript:
    """Return the conversation on numbered lines.

    Args:
        lines: line numbers and lines, in order.
        is_archive: whether the file was set aside: only then do records tell of a scheduled run.

    """
    reader = OpenClawReader(is_archive=is_archive)
    for number, line in lines:
        reader.take(number, line)
    return reader.transcript()


class OpenClawReader:
    """A transcript as far as it was read; lines may be added later."""

    def __init__(self, *, is_archive: bool = False) -> None:
        self._is_archive = is_archive
        self._header: Row = {}
        self._title = ""
        self._turns: list[Turn] = []
        self._resets: list[int] = []
        self._excluded = ""
        self._unreadable = 0
        self._origin = Origin.UNTRUSTED  # of the turn that the last user message opened
        self._is_unsaid = False  # that turn is a heartbeat or a recall
        self._has_people = self._has_system = False

    def take(self, number: int, line: str) -> None:
        """Take in the next line."""
        if not line or line.isspace():
            return
        row = row_of(line)
        if row is None:
            self._unreadable += 1
            return
        self._excluded = self._excluded or self._reason(row)
        match row.get("type"):
            case "message":
                self._take_message(number, row)
            case "reset":
                self._resets.append(number)
            case "session" if not self._header:
                self._header = row
            case "session_info":
                self._title = flattened(string(row, "name")) or self._title

    def transcript(self) -> Transcript:
        """Return what was read so far."""
        is_system_only = self._has_system and not self._has_people
        return Transcript(
            format=Format.OPENCLAW,
            session_id=string(self._header, "id"),
            cwd=string(self._header, "cwd") or None,
            title=redact(self._title) or None,
            started=self._started(),
            turns=tuple(self._turns),
            resets=tuple(self._resets),
            excluded=self._excluded or (SYSTEM_ONLY if is_system_only else ""),
            unreadable=self._unreadable,
        )

    def _started(self) -> datetime | None:
        first = (turn.moment for turn in self._turns if turn.moment is not None)
        return moment_of(self._header.get("timestamp")) or next(first, None)

    def _reason(self, row: Row) -> str:
        inner = mapping(row, "data")
        keys = (
            row.get("runId"),
            row.get("sessionKey"),
            inner.get("runId"),
            inner.get("sessionKey"),
        )
        return reason_of_key(*keys, with_scheduled=self._is_archive)

    def _take_message(self, number: int, row: Row) -> None:
        message = mapping(row, "message")
        role = string(message, "role")
        if role not in _SPEAKERS:
            return
        speaker = Speaker(role)
        is_relayed = False
        if speaker is Speaker.USER:
            is_relayed = self._open_turn(message)
        if is_relayed or self._is_unsaid:
            return
        text = _said(message, speaker)
        if text and not _is_machinery(text, speaker):
            moment = moment_of(message.get("timestamp"), row.get("timestamp"))
            origin = self._origin_of(message, speaker)
            self._turns.append(Turn(number, speaker, redact(text), moment, origin))

    def _open_turn(self, message: Row) -> bool:
        """Note who opens the turn; tell whether another session does."""
        provenance = mapping(message, "provenance")
        is_internal = provenance.get("kind") == _INTERNAL
        self._is_unsaid = is_internal and string(provenance, "sourceTool") in _UNSAID_TOOLS
        self._has_system = self._has_system or is_internal
        self._has_people = self._has_people or not is_internal
        if is_internal:
            self._origin = Origin.SYSTEM
        else:
            is_owner = mapping(message, "__openclaw").get("senderIsOwner") is True
            self._origin = Origin.OWNER if is_owner else Origin.UNTRUSTED
        return provenance.get("kind") == "inter_session"

    def _origin_of(self, message: Row, speaker: Speaker) -> Origin:
        if speaker is Speaker.USER:
            return self._origin
        if mapping(message, "__openclaw").get("turnTainted") is True:
            return Origin.UNTRUSTED
        return Origin.AGENT if self._origin is Origin.OWNER else self._origin


def _said(message: Row, speaker: Speaker) -> str:
    text = "\n".join(said(message.get("content")))
    if speaker is Speaker.USER:
        text = without_envelope(text)
    else:
        text = without_reply_tag(without_blocks(text, _THOUGHT))
    return flattened(without_blocks(without_internal_context(text), RECALLED))


def _is_machinery(text: str, speaker: Speaker) -> bool:
    """Tell whether a message, whole, is one that programs exchange."""
    if _SILENT.fullmatch(text) or _EXEC_EVENT.match(text):
        return True
    if speaker is Speaker.ASSISTANT:
        return text == _HEARTBEAT_ANSWER
    return (
        text.startswith(_PROMPTS)
        or (text.startswith(_HEARTBEAT_PROMPT) and _HEARTBEAT_ANSWER in text)
        or _SYSTEM_MESSAGE.match(text) is not None
        or _CRON_PROMPT.match(text) is not None
    )
