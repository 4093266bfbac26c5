from __future__ import annotations

from pathlib import Path

import pytest

from recollect.sessions.find import FoundTranscript
from recollect.sessions.header import Header, belongs_to, is_of_workspace, read_header
from recollect.sessions.names import slug_of
from recollect.sessions.transcript import TranscriptFormat
from recollect.types import Stat

CODEX = '{"type":"session_meta","payload":{"id":"t","cwd":"/home/ada/garden"}}\n'


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def found(file: Path, form: TranscriptFormat) -> FoundTranscript:
    return FoundTranscript("sessions/x", file, Stat(0, 0), form)


def test_the_first_rows_tell_where_a_conversation_was_held(tmp_path: Path) -> None:
    row = '{"type":"user","cwd":"/w","sessionId":"s","timestamp":"2026-02-01T10:00:00Z"}\n'
    file = write(tmp_path / "-w/c.jsonl", '{"type":"summary","leafUuid":"1"}\nbroken\n' + row)

    expected = Header(
        TranscriptFormat.CLAUDE_CODE,
        cwd="/w",
        project="-w",
    )

    assert expected == read_header(file)


def test_openclaws_header_knows_the_agent_by_its_folder(tmp_path: Path) -> None:
    row = '{"type":"session","version":3,"id":"s","cwd":"/w"}\n'
    file = write(tmp_path / "agents/main/sessions/s.jsonl", row)

    assert Header(TranscriptFormat.OPENCLAW, "/w", agent="main") == read_header(file)


def test_what_comes_late_is_not_looked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", '{"type":"event_msg","payload":{"x":1}}\n' * 70 + CODEX)

    assert Header(TranscriptFormat.CODEX) == read_header(file)


def test_a_file_of_no_format_has_no_header(tmp_path: Path) -> None:
    assert read_header(write(tmp_path / "x.jsonl", "text\n" * 3)) is None
    assert read_header(write(tmp_path / "y.jsonl", "")) is None


def test_of_a_compressed_file_the_name_is_enough(tmp_path: Path) -> None:
    name = "agents/main/sessions/s.jsonl.reset.2026-02-01T10-00-00.000Z.zst"

    assert Header(TranscriptFormat.OPENCLAW, agent="main") == read_header(tmp_path / name)


def test_a_file_that_is_gone_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_header(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("header", "agent", "expected"),
    [
        (Header(TranscriptFormat.OPENCLAW, agent="main", cwd="/else"), "main", True),
        (Header(TranscriptFormat.OPENCLAW, agent="Main"), "main", True),
        (Header(TranscriptFormat.OPENCLAW, agent="ops", cwd="/home/ada/garden"), "main", False),
        (Header(TranscriptFormat.OPENCLAW, agent="ops", cwd="/home/ada/garden"), None, True),
        (Header(TranscriptFormat.OPENCLAW, cwd="/home/ada/garden"), "main", True),
        (Header(TranscriptFormat.CODEX, cwd="/home/ada/garden"), "main", True),
        (Header(TranscriptFormat.CODEX, cwd="/home/ada/garden/beds/roses"), None, True),
        (Header(TranscriptFormat.CODEX, cwd="/home/ada/garden-two"), None, False),
        (Header(TranscriptFormat.CODEX, cwd="/home/ada"), None, False),
        (Header(TranscriptFormat.CODEX), None, False),
        (Header(TranscriptFormat.CLAUDE_CODE, project="-home-ada-garden"), None, True),
        (
            Header(TranscriptFormat.CLAUDE_CODE, project="-home-ada-garden", cwd="/else"),
            None,
            False,
        ),
        (Header(TranscriptFormat.CLAUDE_CODE, project="-work"), None, False),
    ],
)
def test_a_transcript_belongs_to_the_workspace_it_was_held_in_or_to_the_agent(
    header: Header, agent: str | None, *, expected: bool
) -> None:
    assert expected is belongs_to(header, workspace=Path("/home/ada/garden"), agent=agent)


def test_a_workspace_behind_a_link_is_the_one_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real = Header(TranscriptFormat.CODEX, cwd=str((tmp_path / "real").resolve()))
    linked = Header(TranscriptFormat.CODEX, cwd=str(tmp_path / "link"))

    assert belongs_to(real, workspace=tmp_path / "link", agent=None)
    assert belongs_to(linked, workspace=tmp_path / "link", agent=None)


def test_a_file_is_not_opened_when_its_place_decides(tmp_path: Path) -> None:
    workspace = tmp_path / "garden"
    gone = tmp_path / "agents/main/sessions/gone.jsonl"
    other = tmp_path / "-somewhere-else/gone.jsonl"

    assert is_of_workspace(
        found(gone, TranscriptFormat.OPENCLAW), workspace=workspace, agent="main"
    )
    assert not is_of_workspace(
        found(gone, TranscriptFormat.OPENCLAW), workspace=workspace, agent="ops"
    )
    assert not is_of_workspace(
        found(other, TranscriptFormat.CLAUDE_CODE), workspace=workspace, agent=None
    )


def test_a_folder_beside_the_workspace_with_the_slug_of_one_in_it_is_told_apart(
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

    assert is_of_workspace(
        found(inside, TranscriptFormat.CLAUDE_CODE), workspace=workspace, agent=None
    )
    assert not is_of_workspace(
        found(beside, TranscriptFormat.CLAUDE_CODE), workspace=workspace, agent=None
    )
