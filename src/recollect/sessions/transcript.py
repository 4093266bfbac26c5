"""The records of a conversation: who said what, and when.

They do not know file formats or chunks.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.records import dataclass

if TYPE_CHECKING:
    from datetime import datetime

SIDE_AGENT = "is a side agent's own conversation"
"""Reason to exclude what an agent and its sub-agent say to each other."""


class TranscriptFormat(StrEnum):
    """The program that wrote a transcript."""

    OPENCLAW = "openclaw"
    CLAUDE_CODE = "claude"
    CODEX = "codex"
    CHATGPT = "chatgpt"
    CLAUDE_AI = "claude.ai"


class Speaker(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message on one line, without injected blocks and secrets."""

    line: int
    """Line of the transcript, 1-based."""
    speaker: Speaker
    text: str
    moment: datetime | None
    """When it was said, in UTC; None if the transcript does not say."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation."""

    title: str | None = None
    started: datetime | None = None
    turns: tuple[Turn, ...] = ()
    resets: tuple[int, ...] = ()
    """Lines at which the agent's context was reset."""
    excluded: str = ""
    """Why nothing of it may be searched; empty if it may."""
