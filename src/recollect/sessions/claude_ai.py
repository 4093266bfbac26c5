"""Reads conversations of a claude.ai data export: prompts and answers on the branch that was kept.

An export has a flat list of messages for each conversation. Newer ones name the message that each
one answers, because an edited prompt or another answer starts a branch; the last message is the end
of the branch that claude.ai shows. Thoughts, tool calls, their output and the content of attached
files are not part of what was said. The owner of the account is the owner of the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.sessions.clean import RECALLED, flatten, without_blocks
from recollect.sessions.rows import blocks, moment_of, string, texts_of
from recollect.sessions.transcript import Origin, Speaker, Transcript, Turn
from recollect.text.redact import redact

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.sessions.rows import Row

_SPEAKERS = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT}


class ClaudeAiReader:
    """Takes in a conversation of claude.ai row by row: its header, then its messages."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._started: datetime | None = None
        self._turns: list[Turn] = []

    def take(self, number: int, row: Row) -> None:
        """Take in the row on a line."""
        if "export" in row:
            self._title = redact(flatten(string(row, "name"))) or None
            self._started = moment_of(row.get("created_at"))
            return
        speaker = _SPEAKERS.get(string(row, "sender"))
        if speaker is None:
            return
        # Older exports have only the text; in newer ones it also contains remains of tools.
        texts = (
            texts_of(row.get("content")) if blocks(row.get("content")) else [string(row, "text")]
        )
        if spoken := redact(flatten(without_blocks("\n".join(texts), RECALLED))):
            origin = Origin.OWNER if speaker is Speaker.USER else Origin.AGENT
            moment = moment_of(row.get("created_at"))
            self._turns.append(Turn(number, speaker, spoken, moment, origin))

    def transcript(self) -> Transcript:
        """Return the conversation read so far."""
        return Transcript(self._title, self._started, tuple(self._turns))


def messages_of(conversation: Row) -> list[Row]:
    """Return the messages of the branch that ends with the last message, first to last."""
    messages = blocks(conversation.get("chat_messages"))
    by_id = {string(each, "uuid"): each for each in messages}
    if not any(string(each, "parent_message_uuid") in by_id for each in messages):
        return messages
    at = string(conversation, "current_leaf_message_uuid")
    at = at if at in by_id else string(messages[-1], "uuid")
    found: list[Row] = []
    passed: set[str] = set()
    while at in by_id and at not in passed:
        passed.add(at)
        found.append(by_id[at])
        at = string(by_id[at], "parent_message_uuid")
    return found[::-1]
