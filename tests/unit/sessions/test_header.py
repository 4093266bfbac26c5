from __future__ import annotations

from pathlib import Path

import pytest

from recollect.sessions.find import FoundTranscript, is_of_workspace, read_header
from recollect.sessions.names import agent_of, slug_of
from recollect.sessions.transcript import TranscriptFormat
from recollect.types import Stat

CODEX = '{"type":"session_meta","payload":{"id":"t","cwd":"/home/ada/garden"}}\n'


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def found(file: Path, form: TranscriptFormat) -> FoundTranscript:
    return FoundTranscript("sessions/x", file, Stat(0, 0), form, agent_of(file))


def test_the_first_rows_tell_where_a_conversation_was_held(tmp_path: Path) -> None:
    row = '{"type":"user","cwd":"/w","sessionId":"s","timestamp":"2026-02-01T10:00:00Z"}\n'
    file = write(tmp_path / "-w/c.jsonl", '{"type":"summary","leafUuid":"1"}\nbroken\n' + row)

    assert (TranscriptFormat.CLAUDE_CODE, "/w") == read_header(file)


def test_what_comes_late_is_not_looked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", '{"type":"event_msg","payload":{"x":1}}\n' * 70 + CODEX)

    assert (TranscriptFormat.CODEX, "") == read_header(file)


def test_a_file_of_no_format_has_no_header(tmp_path: Path) -> None:
    assert (None, "") == read_header(write(tmp_path / "x.jsonl", "text\n" * 3))
    assert (None, "") == read_header(write(tmp_path / "y.jsonl", ""))


def test_of_a_compressed_file_the_name_is_enough(tmp_path: Path) -> None:
    name = "agents/main/sessions/s.jsonl.reset.2026-02-01T10-00-00.000Z.zst"

    assert (TranscriptFormat.OPENCLAW, "") == read_header(tmp_path / name)


def test_a_file_that_is_gone_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_header(tmp_path / "none.jsonl")


OPENCLAW_ROW = '{{"type":"session","id":"s","cwd":"{}"}}\n'
CODEX_ROW = '{{"type":"session_meta","payload":{{"id":"t","cwd":"{}"}}}}\n'
CLAUDE_ROW = '{{"type":"user","sessionId":"s","cwd":"{}"}}\n'
GARDEN = "/home/ada/garden"


@pytest.mark.parametrize(
    ("form", "path", "text", "agent", "expected"),
    [
        ("openclaw", "agents/main/sessions/s.jsonl", OPENCLAW_ROW.format("/x"), "main", True),
        ("openclaw", "agents/Main/sessions/s.jsonl", "", "main", True),
        ("openclaw", "agents/ops/sessions/s.jsonl", OPENCLAW_ROW.format(GARDEN), "main", False),
        ("openclaw", "agents/ops/sessions/s.jsonl", OPENCLAW_ROW.format(GARDEN), None, True),
        ("openclaw", "s.jsonl", OPENCLAW_ROW.format(GARDEN), "main", True),
        ("codex", "r.jsonl", CODEX_ROW.format(GARDEN), "main", True),
        ("codex", "r.jsonl", CODEX_ROW.format(f"{GARDEN}/beds/roses"), None, True),
        ("codex", "r.jsonl", CODEX_ROW.format(f"{GARDEN}-two"), None, False),
        ("codex", "r.jsonl", CODEX_ROW.format("/home/ada"), None, False),
        ("codex", "r.jsonl", "", None, False),
        ("claude", "-home-ada-garden/c.jsonl", "", None, True),
        ("claude", "-home-ada-garden/c.jsonl", CLAUDE_ROW.format("/else"), None, False),
        ("claude", "-work/c.jsonl", "", None, False),
    ],
)
def test_a_transcript_belongs_to_the_workspace_it_was_held_in_or_to_the_agent(
    tmp_path: Path, form: str, path: str, text: str, agent: str | None, *, expected: bool
) -> None:
    transcript = found(write(tmp_path / path, text), TranscriptFormat(form))

    assert expected is is_of_workspace(transcript, [Path(GARDEN)], agent=agent)


def test_a_workspace_behind_a_link_is_the_one_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for number, folder in enumerate([(tmp_path / "real").resolve(), tmp_path / "link"]):
        rollout = write(tmp_path / f"{number}.jsonl", CODEX_ROW.format(folder))
        transcript = found(rollout, TranscriptFormat.CODEX)

        assert is_of_workspace(transcript, [tmp_path / "link"], agent=None)


def test_a_file_is_not_opened_when_its_place_decides(tmp_path: Path) -> None:
    workspace = tmp_path / "garden"
    gone = tmp_path / "agents/main/sessions/gone.jsonl"
    other = tmp_path / "-somewhere-else/gone.jsonl"

    assert is_of_workspace(found(gone, TranscriptFormat.OPENCLAW), [workspace], agent="main")
    assert not is_of_workspace(found(gone, TranscriptFormat.OPENCLAW), [workspace], agent="ops")
    assert not is_of_workspace(found(other, TranscriptFormat.CLAUDE_CODE), [workspace], agent=None)


def test_a_sibling_folder_with_the_slug_of_a_subfolder_is_not_the_workspace(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "app"
    row = '{{"type":"user","sessionId":"s","cwd":"{}"}}\n'

    inside = write(
        tmp_path / "1" / slug_of(workspace / "two") / "c.jsonl", row.format(workspace / "two")
    )
    beside = write(
        tmp_path / "2" / slug_of(workspace / "two") / "c.jsonl", row.format(tmp_path / "app-two")
    )

    assert is_of_workspace(found(inside, TranscriptFormat.CLAUDE_CODE), [workspace], agent=None)
    assert not is_of_workspace(found(beside, TranscriptFormat.CLAUDE_CODE), [workspace], agent=None)
