"""What a conversation is once its file is read: who said what, when, and how far it is trusted.

The records know no file format and no chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Format(StrEnum):
    """Whose transcript it is."""

    OPENCLAW = "openclaw"
    CLAUDE_CODE = "claude"
    CODEX = "codex"


class Speaker(StrEnum):
    """Who says it."""

    USER = "user"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """How far a message is trusted, the most trusted first; told by metadata, never by text."""

    OWNER = "owner"
    AGENT = "agent"
    SYSTEM = "system"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, cleaned of what was injected and of secrets, on one line."""

    line: int
    """Line of the transcript, 1-based."""
    speaker: Speaker
    text: str
    moment: datetime | None
    """When it was said, in UTC; None when the transcript does not tell."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation."""

    format: Format
    session_id: str = ""
    agent: str | None = None
    """The agent it belongs to, where the format knows several."""
    cwd: str | None = None
    """Folder it was held in."""
    title: str | None = None
    started: datetime | None = None
    turns: tuple[Turn, ...] = ()
    resets: tuple[int, ...] = ()
    """Lines at which a new recall generation begins."""
    excluded: str = ""
    """Why the whole conversation is left out; empty when it is not."""
    unreadable: int = 0
    """Lines that are not JSON objects, or too long: passed over, but counted."""

    @property
    def is_excluded(self) -> bool:
        """True when nothing of it may be searched."""
        return bool(self.excluded)


def worst(origins: tuple[Origin, ...]) -> Origin:
    """Return the least trusted of several: a chunk is as good as its worst line."""
    return max(origins, key=_TRUST.__getitem__)


_TRUST = {origin: place for place, origin in enumerate(Origin)}
