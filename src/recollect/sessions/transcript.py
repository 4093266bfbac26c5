"""A conversation: who said what, and when; and what the readers of all formats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.redact import redact

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.sessions.rows import Row

SIDE_AGENT = "is a side agent's own conversation"
"""Reason to exclude what an agent and its sub-agent say to each other."""


class TranscriptFormat(StrEnum):
    """The program that wrote a transcript."""

    OPENCLAW = "openclaw"
    CLAUDE_CODE = "claude"
    CODEX = "codex"
    CHATGPT = "chatgpt"
    CLAUDE_AI = "claude.ai"
    CLAUDE_MEM = "claude-mem"


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


class TranscriptReader(ABC):
    """Takes in a transcript row by row; each format has its own."""

    def __init__(self) -> None:
        self.title = ""
        self.started: datetime | None = None
        self.turns: list[Turn] = []
        self.resets: list[int] = []
        self.excluded = ""

    @abstractmethod
    def take(self, number: int, row: Row) -> None:
        """Take in the row on a line."""

    def add(self, number: int, speaker: Speaker, spoken: str, moment: datetime | None) -> None:
        """Add a message on one line, unless nothing was said."""
        if spoken:
            self.turns.append(Turn(number, speaker, redact(spoken), moment))

    def transcript(self) -> Transcript:
        """Return the conversation read so far."""
        turns, resets = tuple(self.turns), tuple(self.resets)
        return Transcript(redact(self.title) or None, self.started, turns, resets, self.excluded)
