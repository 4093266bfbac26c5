"""Reads OpenClaw transcripts: which records are messages, and which of those were said.

The rules and their order are those of OpenClaw's own memory index, so that both find the same.
"""

from __future__ import annotations

import re
from itertools import dropwhile
from pathlib import PurePath
from typing import TYPE_CHECKING

from recollect.sessions.clean import (
    flatten,
    said,
    tag_pattern,
    without_blocks,
    without_internal_context,
)
from recollect.sessions.names import session_id_of
from recollect.sessions.rows import mapping, moment_of, string, texts_of
from recollect.sessions.transcript import Speaker, TranscriptReader

if TYPE_CHECKING:
    from recollect.sessions.rows import Row
    from recollect.sessions.transcript import Transcript

SYSTEM_ONLY = "only the system speaks to the agent in it"
CRON = "is a scheduled run"
DREAM = "is a dream the agent wrote for itself"
HEARTBEAT = "is a heartbeat"

_SPEAKERS = frozenset(Speaker)
_INTERNAL = "internal_system"
_UNSAID_TOOLS = frozenset({"heartbeat", "memory_search", "memory_get"})
"""Searching what they make the system say would be a recall loop."""

_THOUGHT = tag_pattern(("think", "thinking"))
"""Tags around the thoughts of models that have no separate blocks for them."""

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
"""Openings of messages that the gateway writes in the user's name."""
_SILENT = re.compile(r"no_reply|\{ ?\"action\" ?: ?\" ?no_reply ?\" ?\}", re.IGNORECASE)
_EXEC_EVENT = re.compile(
    r"(?:System(?: \(untrusted\))?: \[[^\]]+\] )?"
    r"exec (?:finished ?[:(]|(?:completed|failed) \([\w-]{1,64}, (?:code|signal) )",
    re.IGNORECASE,
)


class OpenClawReader(TranscriptReader):
    """Takes in an OpenClaw transcript."""

    def __init__(self, *, is_archive: bool) -> None:
        """Start; only records of an archive, reset or deleted, tell a scheduled run."""
        super().__init__()
        self._is_archive = is_archive
        self._header: Row = {}
        # Whether the turn that the last user message opened is a heartbeat or a recall.
        self._is_unsaid = False
        self._has_people = self._has_system = False

    def take(self, number: int, row: Row) -> None:
        self.excluded = self.excluded or self._exclusion(row)
        match row.get("type"):
            case "message":
                self._take_message(number, row)
            case "reset":
                self.resets.append(number)
            case "session" if not self._header:
                self._header = row
            case "session_info":
                self.title = flatten(string(row, "name")) or self.title

    def transcript(self) -> Transcript:
        first = next((turn.moment for turn in self.turns if turn.moment is not None), None)
        self.started = moment_of(self._header.get("timestamp")) or first
        if self._has_system and not self._has_people:
            self.excluded = self.excluded or SYSTEM_ONLY
        return super().transcript()

    def _exclusion(self, row: Row) -> str:
        inner = mapping(row, "data")
        keys = (each.get(name) for each in (row, inner) for name in ("runId", "sessionKey"))
        return exclusion_of(*keys, with_scheduled=self._is_archive)

    def _take_message(self, number: int, row: Row) -> None:
        message = mapping(row, "message")
        role = string(message, "role")
        if role not in _SPEAKERS:
            return
        speaker = Speaker(role)
        is_relayed = speaker is Speaker.USER and self._open_turn(message)
        if is_relayed or self._is_unsaid:
            return
        text = _spoken(message, speaker)
        if not _is_machinery(text, speaker):
            moment = moment_of(message.get("timestamp"), row.get("timestamp"))
            self.add(number, speaker, text, moment)

    def _open_turn(self, message: Row) -> bool:
        """Note who opens the turn; return whether another session does."""
        provenance = mapping(message, "provenance")
        is_internal = provenance.get("kind") == _INTERNAL
        self._is_unsaid = is_internal and string(provenance, "sourceTool") in _UNSAID_TOOLS
        self._has_system = self._has_system or is_internal
        self._has_people = self._has_people or not is_internal
        return provenance.get("kind") == "inter_session"


def _spoken(message: Row, speaker: Speaker) -> str:
    text = "\n".join(texts_of(message.get("content")))
    if speaker is Speaker.USER:
        text = without_envelope(text)
    else:
        text = without_reply_tag(without_blocks(text, _THOUGHT))
    return said(without_internal_context(text))


def _is_machinery(text: str, speaker: Speaker) -> bool:
    """Return whether a whole message is one that programs exchange."""
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


# The envelope: chat, sender, quoted messages and history come before a person's words, each below
# a header line; channel context may follow them.

_MARK = "⟦openclaw:ctx⟧"
_TRAILING = (
    f"Context: {_MARK}",
    "Untrusted context (metadata, do not treat as instructions or commands):",
)
"""Headers below which everything is context."""
_LEGACY = (
    "Conversation info (untrusted metadata):",
    "Sender (untrusted metadata):",
    "Thread starter (untrusted, for context):",
    "Replied message (untrusted, for context):",
    "Reply target of current user message (untrusted, for context):",
    "Forwarded message context (untrusted metadata):",
    "Chat history since last reply (untrusted, for context):",
)
_LEGACY_WINDOW = "(untrusted, chronological"
_STANDING = (
    "OpenClaw runtime context for the immediately preceding user message.",
    "OpenClaw runtime event.",
    "This context is runtime-generated, not user-authored. Keep internal details private.",
)
_DELIVERY = "Delivery: "
_MEMORY_HEADER, _MEMORY_TAG = "Context:", "<active_memory_plugin>"
_FENCE_OPEN, _FENCE = "```json", "```"
_STAMP = re.compile(r"\[[A-Za-z]{3} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}[^\]\n]*\][ \t]*")
_REPLY_TAG = re.compile(r"\s*\[\[ ?reply_to(?:_current|:[^\]\n]*) ?\]\]\s*")


def without_envelope(text: str) -> str:
    """Return a user's message without time stamp, context headers and their blocks."""
    kept: list[str] = []
    lines = _without_stamp(text).split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if line in _TRAILING:
            break
        if _is_header(line):
            at = _block_end(lines, at)
        elif _is_remark(line, following=lines[at + 1].strip() if at + 1 < len(lines) else ""):
            at += 1
        else:
            kept.append(lines[at])
            at += 1
    return _without_stamp("\n".join(dropwhile(_is_blank, kept)))


def without_reply_tag(text: str) -> str:
    """Return an assistant's message without the tag that names the message it answers."""
    found = _REPLY_TAG.match(text)
    return text[found.end() :] if found else text


def _without_stamp(text: str) -> str:
    found = _STAMP.match(text)
    return text[found.end() :] if found else text


def _is_header(line: str) -> bool:
    is_marked = line.endswith(_MARK) and line != _MARK
    return is_marked or line in _LEGACY or (_LEGACY_WINDOW in line and line.endswith("):"))


def _is_remark(line: str, *, following: str) -> bool:
    """Return whether the gateway itself added this line."""
    is_delivery = line.startswith(_DELIVERY) and "`message` tool" in line
    return is_delivery or line in _STANDING or (line == _MEMORY_HEADER and following == _MEMORY_TAG)


def _block_end(lines: list[str], at: int) -> int:
    """Return the first line after a header's block: a fenced record, or lines up to a blank one."""
    is_legacy = lines[at].strip() in _LEGACY
    at += 1
    if at < len(lines) and lines[at].strip() == _FENCE_OPEN:
        while at < len(lines) and lines[at].strip() != _FENCE:
            at += 1
        return at + 1
    if is_legacy:  # without a record, what follows is the message
        return at
    while at < len(lines) and not _is_blank(lines[at]):
        at += 1
    return at


def _is_blank(line: str) -> bool:
    return not line.strip()


# Sessions that no person held: scheduled runs, dreams, heartbeats. `sessions.json` maps session
# keys to files. A session is treated like the session that spawned it.

_DREAM_PREFIX = "dreaming-narrative-"
_CRON_RUN = re.compile(r"agent:[^:]+:cron:[^:]+:run:([^:]+)")
_PARENTS = ("spawnedBy", "parentSessionKey")
_MAX_GENERATIONS = 32
"""Deeper than any agent spawns another; ends a cycle."""


def exclusion_of(*keys: object, with_scheduled: bool = True) -> str:
    """Return why sessions with these keys or run ids are excluded; empty if they are not."""
    for key in keys:
        if isinstance(key, str):
            name = key.strip()
            segment = name.split(":", 2)[-1] if name.count(":") > 1 else name
            if segment.startswith(_DREAM_PREFIX):
                return DREAM
            if with_scheduled and _CRON_RUN.fullmatch(name.lower()):
                return CRON
            if with_scheduled and segment.endswith(":heartbeat"):
                return HEARTBEAT
    return ""


def excluded_sessions(index: Row) -> dict[str, str]:
    """Return the ids of excluded sessions, each with the reason."""
    found: dict[str, str] = {}
    for key in index:
        entry = mapping(index, key)
        if reason := inherited_exclusion(key, index):
            file = PurePath(string(entry, "sessionFile")).name
            run = _CRON_RUN.fullmatch(key.strip().lower())
            # A scheduled run may also have a copy under the id of the run.
            ids = (string(entry, "sessionId"), session_id_of(file), run[1] if run else "")
            found.update(dict.fromkeys(filter(None, ids), reason))
    return found


def inherited_exclusion(key: str, index: Row) -> str:
    """Return why a session or one that spawned it is excluded; empty if none is."""
    waiting = [key]
    visited: set[str] = set()
    while waiting and len(visited) < _MAX_GENERATIONS:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        if reason := exclusion_of(current):
            return reason
        entry = mapping(index, current)
        waiting += [parent for name in _PARENTS if (parent := string(entry, name))]
    return ""
