from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING

import pytest

from recollect.ingest.folders import Found
from recollect.ingest.read import MAX_FILE_BYTES, UnreadableError, read
from recollect.types import Document, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.reports import Failure

SECOND = 1_000_000_000
MTIME = 1_700_000_000 * SECOND


def found(file: Path, *, path: str = "memory/notes.md") -> Found:
    return Found(path, file, file.parent, stat=Stat(0, 0), source=SourceKind.MEMORY)


def written(folder: Path, content: bytes) -> Path:
    file = folder / "notes.md"
    file.write_bytes(content)
    os.utime(file, ns=(MTIME, MTIME))
    return file


def document(folder: Path, content: bytes) -> Document:
    return read(found(written(folder, content)), now_ns=MTIME + 60 * SECOND)


def failure(file: Path) -> Failure:
    with pytest.raises(UnreadableError) as caught:
        read(found(file), now_ns=MTIME)
    return caught.value.failure


def test_a_file_becomes_a_document(tmp_path: Path) -> None:
    content = b"---\ndate: 2026-02-01\n---\n# Tea\n"

    expected = Document(
        path="memory/notes.md",
        source=SourceKind.MEMORY,
        text="---\ndate: 2026-02-01\n---\n# Tea\n",
        digest=digest_of(content),
        stat=Stat(size_bytes=len(content), mtime_ns=MTIME),
        when=date(2026, 2, 1),
        body_line=4,
        is_settled=True,
    )

    assert expected == document(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [
        "naïve 数据库".encode(),
        "naïve 数据库".encode("utf-8-sig"),
        "naïve 数据库".encode("utf-16"),
        b"\xfe\xff" + "naïve 数据库".encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16 big-endian"],
)
def test_text_is_decoded_by_its_byte_order_mark(tmp_path: Path, content: bytes) -> None:
    assert document(tmp_path, content).text == "naïve 数据库"


def test_line_ends_become_newlines_and_the_digest_is_of_the_bytes(tmp_path: Path) -> None:
    content = b"one\r\ntwo\rthree\n"

    actual = document(tmp_path, content)

    assert actual.text == "one\ntwo\nthree\n"
    assert digest_of(content) == actual.digest


def test_an_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    assert document(tmp_path, b"").text == ""


def test_front_matter_that_is_never_closed_is_body(tmp_path: Path) -> None:
    assert document(tmp_path, b"---\ndate: 2026-02-01\n# Tea\n").body_line == 1


@pytest.mark.parametrize(("age_ns", "is_settled"), [(2 * SECOND, False), (2 * SECOND + 1, True)])
def test_a_file_is_settled_when_a_later_write_would_change_its_stat(
    tmp_path: Path, age_ns: int, *, is_settled: bool
) -> None:
    file = written(tmp_path, b"tea")

    assert is_settled == read(found(file), now_ns=MTIME + age_ns).is_settled


def test_the_stat_is_of_the_content_that_was_read_not_of_what_was_found(tmp_path: Path) -> None:
    assert document(tmp_path, b"longer than found").stat == Stat(17, MTIME)


def test_a_file_that_vanished_is_a_failure(tmp_path: Path) -> None:
    actual = failure(tmp_path / "gone.md")

    assert actual.path == "memory/notes.md"
    assert "deleted" in actual.reason


def test_a_folder_named_like_a_note_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()

    assert "is not a regular file" == failure(tmp_path / "folder.md").reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")

    assert "regular file" in failure(tmp_path / "pipe.md").reason


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file"
)
def test_a_file_without_permission_is_a_failure(tmp_path: Path) -> None:
    file = written(tmp_path, b"secret")
    file.chmod(0)

    assert "cannot be read" in failure(file).reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"caf\xe9", "is not valid UTF-8 (at byte 3)"),
        (b"\xff\xfea", "is not valid UTF-16 (at byte 2)"),
        (b"PNG\x00\x01", "contains NUL characters: it is not text"),
        ("text".encode("utf-32"), "contains NUL characters: it is not text"),
    ],
)
def test_what_is_not_text_is_a_failure(tmp_path: Path, content: bytes, reason: str) -> None:
    assert reason == failure(written(tmp_path, content)).reason


def test_a_file_over_the_limit_is_a_failure_and_one_at_the_limit_is_not(tmp_path: Path) -> None:
    file = written(tmp_path, b"a")
    os.truncate(file, MAX_FILE_BYTES + 1)

    assert failure(file).reason == "is larger than 16 MiB"

    assert len(document(tmp_path, b"a" * MAX_FILE_BYTES).text) == MAX_FILE_BYTES
