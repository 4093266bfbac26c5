from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
import zstandard

from recollect.ingest.read import UnreadableError
from recollect.sessions.find import FoundTranscript
from recollect.sessions.openclaw import CRON
from recollect.sessions.source import read_transcript
from recollect.sessions.transcript import TranscriptFormat
from recollect.types import Stat

if TYPE_CHECKING:
    from pathlib import Path


def row(text: str) -> str:
    return json.dumps({"type": "message", "message": {"role": "user", "content": text}})


def found(file: Path, *, excluded: str = "") -> FoundTranscript:
    return FoundTranscript(
        "sessions/main/s.jsonl", file, Stat(0, 0), TranscriptFormat.OPENCLAW, "main", excluded
    )


def texts(file: Path) -> list[str]:
    transcript, _ = read_transcript(found(file))
    return [turn.text for turn in transcript.turns]


def test_a_file_is_read_as_a_conversation(tmp_path: Path) -> None:
    file = tmp_path / "s-7.jsonl"
    file.write_text(f"{row('one')}\nbroken\n{row('two')}", encoding="utf-8")

    _, stat = read_transcript(found(file))

    assert ["one", "two"] == texts(file)
    assert Stat(file.stat().st_size, file.stat().st_mtime_ns) == stat


def test_what_the_neighbourhood_excludes_is_excluded(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(row("run"), encoding="utf-8")

    transcript, _ = read_transcript(found(file, excluded=CRON))

    assert CRON == transcript.excluded


def test_a_line_that_is_still_being_written_is_left_for_the_next_reading(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(f"{row('one')}\n{row('two')[:-3]}", encoding="utf-8")
    first = texts(file)

    file.write_text(f"{row('one')}\n{row('two')}\n", encoding="utf-8")

    assert ["one"] == first
    assert ["one", "two"] == texts(file)


def test_a_file_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="was deleted while it was being read"):
        read_transcript(found(tmp_path / "none.jsonl"))


def test_a_link_that_took_the_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(row("secret"), encoding="utf-8")
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "secret")

    with pytest.raises(UnreadableError, match="is a symbolic link"):
        read_transcript(found(tmp_path / "s.jsonl"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_that_took_the_files_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.jsonl")

    with pytest.raises(UnreadableError, match="is not a regular file"):
        read_transcript(found(tmp_path / "s.jsonl"))


def archive(folder: Path, content: bytes) -> Path:
    file = folder / "s.jsonl.reset.2026-02-01T10-00-00.000Z.zst"
    file.write_bytes(content)
    return file


def test_a_compressed_archive_is_read(tmp_path: Path) -> None:
    compressor = zstandard.ZstdCompressor()
    parts = [compressor.compress(f"{row(text)}\n".encode()) for text in ("one", "two")]

    assert ["one", "two"] == texts(archive(tmp_path, b"".join(parts)))


def test_a_compressed_archive_that_is_broken_is_a_failure(tmp_path: Path) -> None:
    file = archive(tmp_path, b"not compressed")

    with pytest.raises(UnreadableError, match="cannot be read"):
        read_transcript(found(file))
