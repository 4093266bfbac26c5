"""Reads Codex rollouts: prompts and answers, each once.

Codex writes most messages twice, as an event for its screen and as an item for the model, in either
order and not always both. The first is kept; its twin, which follows soon, is not.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from recollect.sessions.clean import said, tag_pattern, without_blocks
from recollect.sessions.rows import mapping, moment_of, string, texts_of
from recollect.sessions.transcript import SIDE_AGENT, Speaker, TranscriptReader

if TYPE_CHECKING:
    from recollect.sessions.rows import Row
    from recollect.sessions.transcript import Transcript

_INJECTED = tag_pattern((
    "environment_context", "user_instructions", "turn_aborted", "user_shell_command", "user_action",
    "skill", "subagent_notification", "agent_message_board_notification", "recommended_plugins",
    "permissions instructions", "collaboration_mode", "personality_spec", "realtime_conversation",
    "goal_context", "codex_internal_context",
))  # fmt: skip
_RULES_HEADER = re.compile(r"\s*# AGENTS\.md instructions(?: for [^\n]*)?")
_RULES_END = "</INSTRUCTIONS>"
_REQUEST_HEADER = "## My request for Codex:"
"""Heading of the request; the editor puts its own context above it."""
_IMAGE_TAG = re.compile(r"</?image(?:[ \t][^<>\n]*)?>")

_SPEAKERS = frozenset(Speaker)
_TEXT_BLOCKS = frozenset({"input_text", "output_text", "text"})
_EVENTS = {"user_message": Speaker.USER, "agent_message": Speaker.ASSISTANT}
_TWINS_KEPT = 64
"""More messages than ever come between twins, which are two or three apart."""


class CodexReader(TranscriptReader):
    """Takes in a Codex rollout."""

    def __init__(self) -> None:
        super().__init__()
        self._meta: Row = {}
        self._alone: deque[tuple[str, Speaker, str]] = deque(maxlen=_TWINS_KEPT)

    def take(self, number: int, row: Row) -> None:
        if self.started is None:
            self.started = moment_of(row.get("timestamp"))
        payload = mapping(row, "payload")
        match row.get("type"):
            case "session_meta" if not self._meta:  # a fork repeats its parents' rows below
                self._meta = payload
            case "event_msg":
                if speaker := _EVENTS.get(string(payload, "type")):
                    self._say(number, row, speaker, texts_of(payload.get("message")))
            case "response_item":
                self._take_message(number, row, payload)
            case "message":  # rollouts of 2025 have no envelope
                self._take_message(number, row, row)
            case None if not self._meta and string(row, "id"):
                self._meta = row

    def transcript(self) -> Transcript:
        self.started = moment_of(self._meta.get("timestamp")) or self.started
        self.excluded = SIDE_AGENT if "subagent" in mapping(self._meta, "source") else ""
        return super().transcript()

    def _take_message(self, number: int, row: Row, payload: Row) -> None:
        role = string(payload, "role")
        if payload.get("type") == "message" and role in _SPEAKERS:
            texts = texts_of(payload.get("content"), kinds=_TEXT_BLOCKS)
            self._say(number, row, Speaker(role), texts)

    def _say(self, number: int, row: Row, speaker: Speaker, texts: list[str]) -> None:
        if speaker is Speaker.USER:
            texts = [_prompt(text) for text in texts]
        spoken = said("\n".join(texts))
        if spoken and not self._is_twin(string(row, "type"), speaker, spoken):
            self.add(number, speaker, spoken, moment_of(row.get("timestamp")))

    def _is_twin(self, kind: str, speaker: Speaker, text: str) -> bool:
        for other in self._alone:
            if other[0] != kind and other[1:] == (speaker, text):
                self._alone.remove(other)
                return True
        self._alone.append((kind, speaker, text))
        return False


def _prompt(text: str) -> str:
    if header := _RULES_HEADER.match(text):
        text = text[header.end() :].partition(_RULES_END)[2]
    text = _IMAGE_TAG.sub(" ", without_blocks(text, _INJECTED))
    return text.rpartition(_REQUEST_HEADER)[2]
