"""Parses transcript file names, without opening any: is it one, which session, day and agent."""

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
# Copies made when a conversation is compacted, and logs of runs: both repeat another transcript.
_COPY = re.compile(r".+\.(?:checkpoint\.[0-9a-fA-F-]{36}|trajectory)")
_ROLLOUT = re.compile(r"rollout-.+\.jsonl")
_SUB_AGENT = re.compile(r"agent-.+\.jsonl")
_NOT_SLUG = re.compile("[^A-Za-z0-9]")
_DAY = re.compile(r"(?:^rollout-|\.(?:reset|deleted)\.)([0-9]{4})-([0-9]{2})-([0-9]{2})T")


def is_claude_code_name(name: str) -> bool:
    """Return whether this is a Claude Code conversation with a person."""
    return bool(_LIVE.fullmatch(name)) and not _SUB_AGENT.fullmatch(name)


def is_codex_name(name: str) -> bool:
    """Return whether this is a Codex conversation."""
    return bool(_ROLLOUT.fullmatch(name))


def is_transcript_name(name: str) -> bool:
    """Return whether this may be a conversation of any agent."""
    return bool(session_id_of(name)) and not _SUB_AGENT.fullmatch(name)


def is_archive_name(name: str) -> bool:
    """Return whether this is an OpenClaw conversation that was reset or deleted."""
    return bool(_ARCHIVE.fullmatch(name))


def session_id_of(name: str) -> str:
    """Return the session id in an OpenClaw file name; empty if it is not a transcript."""
    found = _ARCHIVE.fullmatch(name) or _LIVE.fullmatch(name)
    return found["id"] if found and not _COPY.fullmatch(found["id"]) else ""


def agent_of(file: PurePath) -> str | None:
    """Return the OpenClaw agent `…/agents/<agent>/…/<file>` that owns a transcript or database."""
    match file.parts:
        case (*_, "agents", agent, "sessions" | "agent", _):
            return agent
    return None


def slug_of(folder: PurePath) -> str:
    """Return the name Claude Code gives the folder with the conversations of a project."""
    return _NOT_SLUG.sub("-", str(folder))


def day_of(name: str) -> date | None:
    """Return the day in a file name on which the conversation began or ended."""
    found = _DAY.search(name)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:  # 2026-02-30 only looks like a date
        return None
