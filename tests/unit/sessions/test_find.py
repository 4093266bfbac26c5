from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from recollect.sessions.find import Root, default_roots, find_transcripts
from recollect.sessions.openclaw import CRON
from recollect.sessions.transcript import TranscriptFormat

if TYPE_CHECKING:
    from pathlib import Path

STAMP = "2026-02-01T10-00-00.000Z"
OPENCLAW = '{"type":"session","version":3,"id":"s","cwd":"/w"}\n'
CLAUDE = '{"type":"user","sessionId":"s","cwd":"/w","message":{"role":"user","content":"Hi"}}\n'
CODEX = '{"type":"session_meta","payload":{"id":"t","cwd":"/w"}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write(file: Path, text: str = OPENCLAW) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def paths(*roots: Root) -> list[str]:
    return [found.path for found in find_transcripts(roots)[0]]


def test_the_folders_of_all_three_agents_are_looked_through(home: Path) -> None:
    write(home / ".openclaw/agents/main/sessions/s-1.jsonl")
    write(home / ".openclaw/agents/ops/sessions/s-2.jsonl")
    write(home / ".claude/projects/-work-garden/c-1.jsonl", CLAUDE)
    write(home / ".codex/sessions/2026/02/01/rollout-2026-02-01T10-00-00-t.jsonl", CODEX)
    write(home / ".codex/archived_sessions/rollout-2026-01-01T10-00-00-u.jsonl", CODEX)

    found, failures = find_transcripts(default_roots(home, environ={}))

    assert [
        ("sessions/claude/-work-garden/c-1.jsonl", TranscriptFormat.CLAUDE_CODE, None),
        ("sessions/codex/rollout-2026-01-01T10-00-00-u.jsonl", TranscriptFormat.CODEX, None),
        ("sessions/codex/rollout-2026-02-01T10-00-00-t.jsonl", TranscriptFormat.CODEX, None),
        ("sessions/main/s-1.jsonl", TranscriptFormat.OPENCLAW, "main"),
        ("sessions/ops/s-2.jsonl", TranscriptFormat.OPENCLAW, "ops"),
    ] == [(each.path, each.format, each.agent) for each in found]
    assert [] == failures


def test_an_agent_that_is_not_there_is_no_failure(home: Path) -> None:
    assert ([], []) == find_transcripts(default_roots(home, environ={}))


def test_the_environment_moves_the_folders(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "oc/agents/main/sessions/s.jsonl")
    write(tmp_path / "cc/projects/p/c.jsonl", CLAUDE)
    write(tmp_path / "cx/sessions/rollout-1.jsonl", CODEX)
    environ = {
        "OPENCLAW_STATE_DIR": str(tmp_path / "oc"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "cc"),
        "CODEX_HOME": str(tmp_path / "cx"),
    }

    assert [
        "sessions/claude/p/c.jsonl",
        "sessions/codex/rollout-1.jsonl",
        "sessions/main/s.jsonl",
    ] == paths(*default_roots(home, environ=environ))


def test_of_openclaw_only_conversations_live_or_archived_are_taken(home: Path) -> None:
    sessions = home / ".openclaw/agents/main/sessions"
    for name in (
        "s-1.jsonl",
        f"s-2.jsonl.reset.{STAMP}",
        f"s-3.jsonl.deleted.{STAMP}",
        f"s-4.jsonl.reset.{STAMP}.zst",
        f"s-5.jsonl.bak.{STAMP}",
        "s-6.checkpoint.0b5f8c1e-3f0e-4e8e-9d2a-6c6f1b1f9a77.jsonl",
        "s-7.trajectory.jsonl",
        "s-8.trajectory-path.json",
        "sessions.json",
        "deeper/s-9.jsonl",
    ):
        write(sessions / name, "{}")

    assert [
        "sessions/main/s-1.jsonl",
        f"sessions/main/s-2.jsonl.reset.{STAMP}",
        f"sessions/main/s-3.jsonl.deleted.{STAMP}",
        f"sessions/main/s-4.jsonl.reset.{STAMP}.zst",
    ] == paths(*default_roots(home, environ={}))


def test_of_claude_code_side_agents_are_left_out(home: Path) -> None:
    write(home / ".claude/projects/p/c-1.jsonl", CLAUDE)
    write(home / ".claude/projects/p/agent-a1.jsonl", CLAUDE)
    write(home / ".claude/projects/p/c-1/subagents/agent-a2.jsonl", CLAUDE)

    assert ["sessions/claude/p/c-1.jsonl"] == paths(*default_roots(home, environ={}))
    assert ["sessions/claude/p/c-1.jsonl"] == paths(Root(home / ".claude/projects/p"))


def test_a_scheduled_run_is_excluded_live_and_archived(home: Path) -> None:
    sessions = home / ".openclaw/agents/main/sessions"
    write(sessions / "s-1.jsonl")
    write(sessions / f"s-1.jsonl.reset.{STAMP}")
    write(sessions / "s-2.jsonl")
    index = {"agent:main:cron:nightly:run:r": {"sessionId": "s-1"}}
    write(sessions / "sessions.json", json.dumps(index))

    found, _ = find_transcripts(default_roots(home, environ={}))

    assert [CRON, CRON, ""] == [each.excluded for each in found]


@pytest.mark.parametrize("content", ["{", "[]", '{"agent:main:main": 7}'])
def test_an_index_that_cannot_be_read_excludes_nothing(home: Path, content: str) -> None:
    sessions = home / ".openclaw/agents/main/sessions"
    write(sessions / "s-1.jsonl")
    write(sessions / "sessions.json", content)

    found, failures = find_transcripts(default_roots(home, environ={}))

    assert [""] == [each.excluded for each in found]
    assert (content == "{") == bool(failures)


def test_links_are_not_followed_but_reported(home: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "elsewhere/s.jsonl")
    sessions = home / ".openclaw/agents/main/sessions"
    write(sessions / "s-1.jsonl")
    (sessions / "s-2.jsonl").symlink_to(secret)
    (sessions.parent.parent / "other").symlink_to(tmp_path / "elsewhere")

    found, failures = find_transcripts(default_roots(home, environ={}))

    assert ["sessions/main/s-1.jsonl"] == [each.path for each in found]
    assert ["is a symbolic link"] == [each.reason for each in failures]


def test_a_place_that_is_itself_a_link_is_followed(home: Path, tmp_path: Path) -> None:
    write(tmp_path / "cloud/projects/p/c.jsonl", CLAUDE)
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/projects").symlink_to(tmp_path / "cloud/projects")

    assert ["sessions/claude/p/c.jsonl"] == paths(*default_roots(home, environ={}))


def test_a_named_file_or_folder_is_of_the_format_its_first_lines_tell(tmp_path: Path) -> None:
    write(tmp_path / "mixed/a.jsonl", CLAUDE)
    write(tmp_path / "mixed/deep/b.jsonl", CODEX)
    write(tmp_path / "mixed/c.jsonl", f"not json\n{OPENCLAW}")
    file = write(tmp_path / "single.jsonl", CODEX)

    assert [
        "sessions/c.jsonl",
        "sessions/claude/mixed/a.jsonl",
        "sessions/codex/b.jsonl",
        "sessions/codex/single.jsonl",
    ] == paths(Root(tmp_path / "mixed"), Root(file))


def test_a_named_folder_of_openclaw_tells_the_agent(home: Path) -> None:
    sessions = home / ".openclaw/agents/main/sessions"
    write(sessions / "s-1.jsonl")

    assert ["sessions/main/s-1.jsonl"] == paths(Root(sessions))


@pytest.mark.parametrize("content", ["", "# Notes\n", '{"hello": "world"}\n'])
def test_a_file_of_no_known_format_is_reported(tmp_path: Path, content: str) -> None:
    file = write(tmp_path / "x.jsonl", content)

    found, failures = find_transcripts([Root(file)])

    assert ([], ["is not a transcript in a known format"]) == (
        found,
        [each.reason for each in failures],
    )


def test_a_copy_is_not_taken_even_when_it_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / f"s.jsonl.bak.{STAMP}")

    found, failures = find_transcripts([Root(file)])

    assert ([], ["is a copy of another transcript"]) == (found, [each.reason for each in failures])


def test_a_named_place_that_is_missing_is_reported(tmp_path: Path) -> None:
    _, failures = find_transcripts([Root(tmp_path / "none")])

    assert ["cannot be reached: No such file or directory"] == [each.reason for each in failures]


def test_a_file_named_twice_is_found_once(tmp_path: Path) -> None:
    file = write(tmp_path / "p/c.jsonl", CLAUDE)

    assert ["sessions/claude/p/c.jsonl"] == paths(Root(file), Root(tmp_path / "p"), Root(file))


def test_two_files_with_one_stored_path_are_reported_to_the_user(tmp_path: Path) -> None:
    one = write(tmp_path / "1/p/c.jsonl", CLAUDE)
    other = write(tmp_path / "2/p/c.jsonl", CLAUDE)

    found, failures = find_transcripts([Root(one), Root(other)])

    assert [one] == [each.file for each in found]
    assert [str(other)] == [each.path for each in failures]


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be made there")
def test_a_stored_path_has_no_characters_that_forge_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "p/a\nb.jsonl", CLAUDE)

    assert ["sessions/claude/p/a_b.jsonl"] == paths(Root(file))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads anything")
def test_a_folder_that_cannot_be_listed_is_reported(home: Path) -> None:
    projects = home / ".claude/projects"
    projects.mkdir(parents=True, mode=0o000)

    _, failures = find_transcripts(default_roots(home, environ={}))

    assert ["cannot be listed: Permission denied"] == [each.reason for each in failures]
