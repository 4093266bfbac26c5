from __future__ import annotations

from datetime import date
from pathlib import PurePosixPath

import pytest

from recollect.sessions.names import (
    agent_of,
    day_of,
    is_archive_name,
    is_claude_code_name,
    is_codex_name,
    is_transcript_name,
    session_id_of,
    slug_of,
)

STAMP = "2026-02-01T10-00-00.000Z"
UUID = "0b5f8c1e-3f0e-4e8e-9d2a-6c6f1b1f9a77"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s-1.jsonl", "s-1"),
        (f"s-1.jsonl.reset.{STAMP}", "s-1"),
        (f"s-1.jsonl.deleted.{STAMP}", "s-1"),
        ("s-1.jsonl.deleted.2026-02-01T10-00-00Z", "s-1"),
        (f"s-1.jsonl.reset.{STAMP}.zst", "s-1"),
        (f"s-1.jsonl.bak.{STAMP}", ""),
        ("s-1.jsonl.reset.lately", ""),
        (f"s-1.checkpoint.{UUID}.jsonl", ""),
        ("s-1.trajectory.jsonl", ""),
        (f"s-1.trajectory.jsonl.deleted.{STAMP}", ""),
        ("s-1.trajectory-path.json", ""),
        ("sessions.json", ""),
        (".jsonl", ""),
        ("notes.md", ""),
    ],
)
def test_a_name_tells_which_session_it_is_if_it_is_to_be_read(name: str, expected: str) -> None:
    assert expected == session_id_of(name)


def test_each_agent_has_names_of_its_own() -> None:
    assert is_archive_name(f"s.jsonl.reset.{STAMP}.zst")
    assert not is_archive_name("s.jsonl")
    assert is_claude_code_name(f"{UUID}.jsonl")
    assert not is_claude_code_name("agent-1234.jsonl")
    assert is_codex_name(f"rollout-2026-02-01T10-00-00-{UUID}.jsonl")
    assert not is_codex_name("history.jsonl")
    assert is_transcript_name("anything.jsonl")
    assert not is_transcript_name("agent-1234.jsonl")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"s.jsonl.reset.{STAMP}", date(2026, 2, 1)),
        (f"rollout-2026-02-01T10-00-00-{UUID}.jsonl", date(2026, 2, 1)),
        ("rollout-2026-02-30T10-00-00-x.jsonl", None),
        (f"{UUID}.jsonl", None),
    ],
)
def test_a_name_may_tell_the_day(name: str, expected: date | None) -> None:
    assert expected == day_of(name)


def test_the_folder_tells_the_agent_or_the_project() -> None:
    assert "main" == agent_of(PurePosixPath("/h/.openclaw/agents/main/sessions/s.jsonl"))
    assert agent_of(PurePosixPath("/h/agents/main/other/s.jsonl")) is None
    assert agent_of(PurePosixPath("s.jsonl")) is None
    assert "-home-me-my-app-v2" == slug_of(PurePosixPath("/home/me/my_app.v2"))
