"""What the name of a transcript file tells: whether to read it at all, and which session it is.

It knows names only; nothing is opened.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import PurePath

COMPRESSED = ".zst"

_STAMP = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}(?:\.[0-9]{3})?Z"
_LIVE = re.compile(r"(?P<id>.+)\.jsonl")
_ARCHIVE = re.compile(rf"(?P<id>.+)\.jsonl\.(?:reset|deleted)\.{_STAMP}(?:\.zst)?")
# A copy made when a conversation is compacted, and the log of a run: both repeat what is elsewhere.
_COPY = re.compile(r".+\.(?:checkpoint\.[0-9a-fA-F-]{36}|trajectory)")
_ROLLOUT = re.compile(r"rollout-.+\.jsonl")
_SUB_AGENT = re.compile(r"agent-.+\.jsonl")
_NOT_SLUG = re.compile("[^A-Za-z0-9]")
_DAY = re.compile(r"(?:^rollout-|\.(?:reset|deleted)\.)([0-9]{4})-([0-9]{2})-([0-9]{2})T")


def is_openclaw_name(name: str) -> bool:
    """Tell whether OpenClaw keeps a conversation under this name, live or set aside."""
    return bool(session_id_of(name))


def is_claude_code_name(name: str) -> bool:
    """Tell whether Claude Code keeps a person's conversation under this name."""
    return bool(_LIVE.fullmatch(name)) and not _SUB_AGENT.fullmatch(name)


def is_codex_name(name: str) -> bool:
    """Tell whether Codex keeps a conversation under this name."""
    return bool(_ROLLOUT.fullmatch(name))


def is_transcript_name(name: str) -> bool:
    """Tell whether a conversation may be kept under this name, by anyone."""
    return is_openclaw_name(name) and not _SUB_AGENT.fullmatch(name)


def is_archive_name(name: str) -> bool:
    """Tell whether the name is that of a conversation that was reset or deleted."""
    return bool(_ARCHIVE.fullmatch(name))


def session_id_of(name: str) -> str:
    """Return the session an OpenClaw file name belongs to; empty when it is no transcript."""
    found = _ARCHIVE.fullmatch(name) or _LIVE.fullmatch(name)
    return found["id"] if found and not _COPY.fullmatch(found["id"]) else ""


def agent_of(file: PurePath) -> str | None:
    """Return OpenClaw's agent in whose folder a file is: `…/agents/<agent>/sessions/<file>`."""
    match file.parts:
        case (*_, "agents", agent, "sessions", _):
            return agent
    return None


def slug_of(folder: PurePath) -> str:
    """Return how Claude Code names the folder with the conversations held in a folder."""
    return _NOT_SLUG.sub("-", str(folder))


def day_of(name: str) -> date | None:
    """Return the day in a name that says when a conversation began or ended."""
    found = _DAY.search(name)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:  # 2026-02-30 has the form of a date only
        return None
