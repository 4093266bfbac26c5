"""Whatever the umask, nobody but the owner can read what Recollect keeps for itself."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.loopback import loopback_vendor
from tests.vendors.chat import KEY, KNOWN_CHATS, chat_server

from recollect import Memory
from recollect.sessions.names import slug_of
from recollect.shells.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENAI = next(known for known in KNOWN_CHATS if known.name == "openai")
FACT = json.dumps({"category": "technical", "text": "The mooring is at pier 4"})
UNTIL_STOPPED = {"serve"}
"""Write what `index` writes, through the same Memory."""
ELSEWHERE = {"server"}
"""Write to a server or a database."""


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    previous = os.umask(0)
    yield
    os.umask(previous)


def conversation(workspace: Path, user: Path) -> Path:
    folder = user / ".claude" / "projects" / slug_of(workspace)
    folder.mkdir(parents=True)
    message = {"role": "user", "content": "The spare key hangs behind the barrel."}
    row = {"type": "user", "message": message, "sessionId": "5f0c", "cwd": str(workspace)}
    (folder / "5f0c.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


def modes(place: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in (place, *place.rglob("*")):
        with suppress(FileNotFoundError):  # SQLite removes files when a command ends
            found[str(each.relative_to(place.parent))] = stat.S_IMODE(each.stat().st_mode)
    return found


def open_to_others(place: Path) -> dict[str, str]:
    return {name: oct(mode) for name, mode in modes(place).items() if mode & 0o077}


def commands(tmp_path: Path) -> list[list[str]]:
    cases = tmp_path / "cases.jsonl"
    expected = ["memory/2026-01-02.md"]
    asked = [{"query": f"mooring {number}", "expected": expected} for number in range(20)]
    cases.write_text("".join(f"{json.dumps(each)}\n" for each in asked), encoding="utf-8")
    return [
        ["config", "set", "sources", "memory,sessions"],
        ["config", "show"],
        ["remember", "The mooring fee is 40 francs."],
        ["index"],
        ["search", "mooring"],
        ["recall", "what is the mooring fee"],
        ["get", "memory/2026-01-02.md"],
        ["sessions", "import"],
        ["sessions", "forget", "5f0c"],
        ["sessions", "list"],
        ["facts", "list"],
        ["ingest", "--paths", "memory/*.md"],
        ["status"],
        ["doctor", "--verify"],
        ["doctor"],
        ["status", "--all"],
        ["eval", str(cases)],
        ["search", "mooring", "--right", "1"],
        ["tidy"],
        ["mcp"],
        ["install", "claude", "--scope", "user"],
        ["reset", "--yes"],
    ]


def test_what_the_commands_write_is_their_owners_alone(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory" / "2026-01-02.md").write_text("# Mooring\nFee.\n", encoding="utf-8")
    user = tmp_path / "user"
    conversation(workspace, user)
    before = {*modes(user)}
    given = commands(tmp_path)
    event = json.dumps({"cwd": str(workspace), "hook_event_name": "Stop"})
    with loopback_vendor(tmp_path) as vendor, chat_server(OPENAI, lambda _: FACT) as chat:
        environ = {
            **vendor,
            "RECOLLECT_LLM_PROVIDER": "openai",
            "RECOLLECT_LLM_BASE_URL": f"{chat.url}/v1",
            "RECOLLECT_LLM_API_KEY": "env:CHAT_KEY",
            "CHAT_KEY": KEY,
        }
        for arguments in [*given, ["hook", "stop"]]:
            done = subprocess.run(
                [*recollect_command(), "-w", str(workspace), *arguments],
                env=environ,
                input=event if arguments[0] == "hook" else "",
                capture_output=True,
                text=True,
                check=False,
            )

            assert 0 == done.returncode, (arguments, done.stdout, done.stderr)

            home, written = open_to_others(tmp_path / "home"), open_to_others(user)

            assert {} == home, arguments
            assert set() == {*written} - before, arguments

    kept = {each.name for each in (tmp_path / "home").iterdir()}

    assert {*COMMANDS} == {"hook"} | {each[0] for each in given} | UNTIL_STOPPED | ELSEWHERE
    assert {"cache", "ingested", "memory", "sessions"} <= kept
    assert (user / ".config" / "recollect" / "config.toml").is_file()


def test_the_files_beside_an_open_index_are_private_too(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    (workspace / "memory" / "2026-01-02.md").write_text("# Mooring\nFee.\n", encoding="utf-8")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()
        found = modes(tmp_path / "home")

    assert {".sqlite", ".sqlite-wal", ".sqlite-shm"} <= {Path(name).suffix for name in found}
    assert {} == {name: oct(mode) for name, mode in found.items() if mode & 0o077}


def test_an_index_from_before_is_restricted_when_it_is_opened(
    workspace: Path, environ: dict[str, str]
) -> None:
    (workspace / "memory" / "2026-01-02.md").write_text("# Mooring\nFee.\n", encoding="utf-8")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()
        location = memory.status().index.location
        files = [Path(location + beside) for beside in ("", "-wal", "-shm")]
        for each in files:
            each.chmod(0o644)
        with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as other:
            other.search("mooring")

        assert {0o600} == {stat.S_IMODE(each.stat().st_mode) for each in files}


def test_facts_and_a_workspaces_settings_follow_the_umask(
    workspace: Path, environ: dict[str, str]
) -> None:
    os.umask(0o022)
    for arguments in (
        ["remember", "The mooring fee is 40 francs."],
        ["config", "set", "max_results", "7", "--workspace-file"],
    ):
        subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            check=True,
            capture_output=True,
        )

    files = [*(workspace / "memory" / "facts").glob("*.md"), workspace / "recollect.toml"]

    assert len(files) == 2
    assert {0o644} == {stat.S_IMODE(each.stat().st_mode) for each in files}
