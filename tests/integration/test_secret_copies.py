"""Imported transcripts hold no secrets, whatever ends the import."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import wait_until

from recollect import Memory
from recollect.sessions.names import slug_of
from recollect.sessions.rows import pack, unpack

if TYPE_CHECKING:
    from pathlib import Path

BOTH = {"sources": ["memory", "sessions"], "provider": "none"}
TOKEN = "ghp" + "_" + "a1B2" * 9
PASSWORD = "hunter2" + "X9"


def row(workspace: Path, text: str, **more: object) -> str:
    message = {"role": "user", "content": text}
    fields = {"type": "user", "message": message, "sessionId": "5f0c", "cwd": str(workspace)}
    return json.dumps({**fields, **more}) + "\n"


def transcript(workspace: Path, user: Path, rows: list[str]) -> Path:
    folder = user / ".claude" / "projects" / slug_of(workspace)
    folder.mkdir(parents=True)
    file = folder / "5f0c.jsonl"
    file.write_text("".join(rows), encoding="utf-8")
    return file


def copies(tmp_path: Path) -> list[Path]:
    return [each for each in (tmp_path / "home" / "sessions").rglob("*.jsonl*") if each.is_file()]


def test_a_copy_has_no_secret_and_the_rows_and_size_of_its_original(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    image = "iVBORw0KGgoeyJ" + "aB3" * 2000
    rows = [
        row(workspace, "Where is the spare key?", image=image),
        row(workspace, f"The token is {TOKEN}.\nAnd my password is {PASSWORD} – yes 🔑"),
        row(workspace, "ok", toolUseResult={"stdout": f'{{"password": "{PASSWORD}"}}'}),
        row(workspace, "ok", input={"password": "correct horse", "sessionKey": "agent:main:1a2b"}),
        f"not JSON, password={PASSWORD}\n",
    ]
    file = transcript(workspace, tmp_path / "user", rows)
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        brought = memory.sessions.import_transcripts()
        again = memory.sessions.import_transcripts()
        file.unlink()
        [hit] = memory.search("spare key").hits

    [copy] = copies(tmp_path)
    text = copy.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    fields = json.loads(lines[3])["input"]

    assert (1, []) == (len(brought), again)
    assert rows[0] == lines[0]
    assert [len(each.encode()) for each in rows] == [len(each.encode()) for each in lines]
    assert not any(secret in text for secret in (TOKEN, PASSWORD, "correct horse"))
    assert {"password": "***", "sessionKey": "agent:main:1a2b"} == fields
    assert copy.name in hit.path


def test_a_growing_original_is_copied_again(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    file = transcript(workspace, tmp_path / "user", [row(workspace, f"password={PASSWORD}")])
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts()
        with file.open("a", encoding="utf-8") as stream:
            stream.write(row(workspace, "The spare key hangs behind the barrel."))
        brought = memory.sessions.import_transcripts()
        last = memory.sessions.last_copies(["5f0c"])

    [copy] = copies(tmp_path)
    assert (1, []) == (len(brought), last)
    assert "barrel" in copy.read_text(encoding="utf-8")


def test_a_compressed_copy_has_no_secrets(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    original = tmp_path / "elsewhere" / "agents" / "main" / "sessions"
    original.mkdir(parents=True)
    file = original / "bbbb.jsonl.reset.2026-01-02T03-04-05Z.zst"
    file.write_bytes(pack(row(workspace, f"The token is {TOKEN}.").encode()))
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts([str(file)])

    [copy] = (tmp_path / "home" / "sessions").rglob("*.zst")
    assert b"The token is" in unpack(copy.read_bytes())
    assert TOKEN.encode() not in unpack(copy.read_bytes())


def test_an_export_is_stored_without_its_secrets(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    message = {
        "uuid": "m1",
        "sender": "human",
        "text": f"my password is {PASSWORD}",
        "created_at": "2026-01-02T03:04:05Z",
        "attachments": [{"extracted_content": f"TOKEN={TOKEN}"}],
    }
    conversation = {
        "uuid": "0b6f7a0e-0000-4000-8000-000000000001",
        "name": f"About {TOKEN}",
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        "chat_messages": [message],
    }
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w") as packed:
        packed.writestr("conversations.json", json.dumps([conversation]))
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts([str(export)])

    [copy] = copies(tmp_path)
    text = copy.read_text(encoding="utf-8")
    assert not any(secret in text for secret in (TOKEN, PASSWORD))


@pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal")
def test_a_killed_import_leaves_no_secret_and_the_next_one_cleans_up(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    rows = [row(workspace, f"{number}: my password is {PASSWORD}") for number in range(8_000)]
    transcript(workspace, tmp_path / "user", rows)
    command = [sys.executable, "-m", "recollect", "-w", str(workspace), "sessions", "import"]
    given = {**environ, "RECOLLECT_SOURCES": "memory,sessions", "RECOLLECT_PROVIDER": "none"}
    archive = tmp_path / "home" / "sessions"

    def left() -> list[Path]:
        return [each for each in archive.rglob("*.tmp") if each.stat().st_size]

    with subprocess.Popen(command, env=given, umask=0, stdout=subprocess.DEVNULL) as killed:
        wait_until(lambda: left() or killed.poll() is not None)
        killed.send_signal(signal.SIGKILL)
    [leftover] = left()

    assert 0o600 == stat.S_IMODE(leftover.stat().st_mode)
    assert PASSWORD.encode() not in leftover.read_bytes()

    subprocess.run(command, env=given, check=True, stdout=subprocess.DEVNULL)

    assert [] == [*archive.rglob("*.tmp")]
    assert PASSWORD not in copies(tmp_path)[0].read_text(encoding="utf-8")
