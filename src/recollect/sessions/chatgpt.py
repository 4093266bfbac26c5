"""Reads conversations of a ChatGPT data export: prompts and answers on the branch that was kept.

An export has a tree of nodes for each conversation, because an edited prompt or another answer
starts a branch. `current_node` is the end of the branch that ChatGPT shows. Thoughts, tool calls,
their output and custom instructions are not part of what was said. The owner of the account is the
owner of the memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.sessions.clean import RECALLED, flatten, without_blocks
from recollect.sessions.rows import blocks, mapping, moment_of, string
from recollect.sessions.transcript import Origin, Speaker, Transcript, Turn
from recollect.text.redact import redact

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.sessions.rows import Row

_SPEAKERS = frozenset(Speaker)
_SPOKEN = frozenset({"text", "multimodal_text"})
"""Types of content that are messages; others are code, output, thoughts and context."""
_HEARD = "audio_transcription"
_NOT_SAID = ("is_visually_hidden_from_conversation", "is_user_system_message")
_CITATION = re.compile("\ue200[^\ue201]{0,500}\ue201|【[^【】]{0,80}†[^【】]{0,80}】")
"""Marks of cited sources, which ChatGPT shows as links."""


class ChatGptReader:
    """Takes in a conversation of ChatGPT row by row: its header, then its messages."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._started: datetime | None = None
        self._turns: list[Turn] = []

    def take(self, number: int, row: Row) -> None:
        """Take in the row on a line."""
        if "export" in row:
            self._title = redact(flatten(string(row, "title"))) or None
            self._started = moment_of(row.get("create_time"))
            return
        role = string(mapping(row, "author"), "role")
        metadata = mapping(row, "metadata")
        is_hidden = any(metadata.get(mark) is True for mark in _NOT_SAID)
        # A message to anybody else is a call of a tool.
        if role not in _SPEAKERS or is_hidden or row.get("recipient", "all") != "all":
            return
        speaker = Speaker(role)
        text = _CITATION.sub(" ", "\n".join(_texts(mapping(row, "content"))))
        if spoken := redact(flatten(without_blocks(text, RECALLED))):
            origin = Origin.OWNER if speaker is Speaker.USER else Origin.AGENT
            moment = moment_of(row.get("create_time"))
            self._turns.append(Turn(number, speaker, spoken, moment, origin))

    def transcript(self) -> Transcript:
        """Return the conversation read so far."""
        return Transcript(self._title, self._started, tuple(self._turns))


def messages_of(conversation: Row) -> list[Row]:
    """Return the messages of the branch that ends at the current node, first to last."""
    nodes = mapping(conversation, "mapping")
    at = string(conversation, "current_node")
    found: list[Row] = []
    passed: set[str] = set()
    while at and at not in passed:  # a node that is its own ancestor would never end
        passed.add(at)
        node = mapping(nodes, at)
        if message := mapping(node, "message"):
            found.append(message)
        at = string(node, "parent")
    return found[::-1]


def _texts(content: Row) -> list[str]:
    if string(content, "content_type") not in _SPOKEN:
        return []
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else []
    heard = [each for each in blocks(given) if string(each, "content_type") == _HEARD]
    return [part for part in given if isinstance(part, str)] + [
        string(each, "text") for each in heard
    ]
