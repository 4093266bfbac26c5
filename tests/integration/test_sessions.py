"""Conversations in the index: found, searched, kept, forgotten."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import recollect_command

from recollect import Memory, NotFoundError
from recollect.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

BOTH = {"sources": ["memory", "sessions"], "provider": "none"}


def row(role: str, text: str, *, at: str, cwd: Path) -> str:
    return json.dumps(
        {
            "type": role,
            "message": {"role": role, "content": text},
            "uuid": f"{role}-{at}",
            "timestamp": at,
            "sessionId": "5f0c",
            "cwd": str(cwd),
        }
    )


@pytest.fixture
def claude(environ: dict[str, str], workspace: Path, tmp_path: Path) -> Path:
    """A conversation of Claude Code in the workspace, and one held elsewhere."""
    projects = tmp_path / "user" / ".claude" / "projects"
    own = projects / "".join(c if c.isalnum() else "-" for c in str(workspace))
    own.mkdir(parents=True)
    rows = [
        row("user", "Where do we keep the spare key?", at="2026-02-01T09:00:00Z", cwd=workspace),
        row(
            "assistant",
            "The spare key hangs behind the blue barrel. My token is ghp_" + "a1B2" * 9,
            at="2026-02-01T09:00:05Z",
            cwd=workspace,
        ),
    ]
    file = own / "5f0c.jsonl"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    other = projects / "-somewhere-else"
    other.mkdir()
    (other / "77aa.jsonl").write_text(
        row("user", "The barrel elsewhere is red.", at="2026-02-02T09:00:00Z", cwd=tmp_path / "x")
        + "\n",
        encoding="utf-8",
    )
    del environ
    return file


def test_transcripts_are_not_read_unless_asked_for(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    del claude
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        assert () == memory.search("blue barrel").hits


def test_a_hit_carries_transcript_lines_speaker_and_time_and_no_secret(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        [hit] = memory.search("blue barrel").hits
        excerpt = memory.get(hit.path, start_line=2, lines=1)

    assert f"sessions/claude/{claude.parent.name}/5f0c.jsonl" == hit.path
    assert (1, 2) == (hit.start_line, hit.end_line)
    assert "sessions" == hit.source
    assert ("user,assistant", "2026-02-01T09:00:00Z") == (hit.speaker, hit.moment)
    assert "2026-02-01" == str(hit.date)
    assert "a1B2a1B2" not in hit.snippet
    assert "a1B2a1B2" not in excerpt.text
    assert excerpt.text.startswith("Assistant: The spare key hangs behind the blue barrel.")


def test_what_a_speaker_marks_as_private_is_neither_found_nor_read(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    said = "The barrel <private>holds the zanzibar key</private> is blue."
    with claude.open("a", encoding="utf-8") as stream:
        stream.write(row("user", said, at="2026-02-01T09:01:00Z", cwd=workspace) + "\n")
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        (hit,) = memory.search("barrel").hits
        found = memory.search("zanzibar").hits
        excerpt = memory.get(hit.path, start_line=3, lines=1)

    assert not found
    assert "User: The barrel  is blue." == excerpt.text


def test_the_source_and_the_days_narrow_a_search(
    workspace: Path, environ: dict[str, str], claude: Path, write: Callable[[str, str], Path]
) -> None:
    del claude
    write("memory/2026-03-01.md", "The blue barrel leaks.\n")
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        notes = memory.search("blue barrel", source="memory").hits
        talk = memory.search("blue barrel", source="sessions").hits
        both = memory.search("blue barrel").hits

    assert ["memory/2026-03-01.md"] == [hit.path for hit in notes]
    assert [True] == [hit.path.startswith("sessions/") for hit in talk]
    assert 2 == len(both)
    assert "memory/2026-03-01.md" == both[0].path


def test_a_conversation_that_goes_on_is_found_at_once_and_keeps_its_vectors(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    settings = {"sources": ["memory", "sessions"]}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        first = memory.sync()
        with claude.open("a", encoding="utf-8") as stream:
            stream.write(
                row("user", "And the ladder? " * 300, at="2026-02-01T09:05:00Z", cwd=workspace)
                + "\n"
            )
        results = memory.search("ladder", source="sessions")
        verification = memory.verify()

    assert 1 == first.embedded
    assert results.hits
    assert () == verification.differences
    assert 0 == verification.pending


def test_switching_sessions_off_takes_them_out_again(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    del claude
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sync()
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        report = memory.sync()

    assert (1, 0) == (report.removed, report.chunks)


def test_an_imported_transcript_outlives_its_original(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        brought = memory.sessions.import_transcripts()
        again = memory.sessions.import_transcripts()
        claude.unlink()
        [hit] = memory.search("blue barrel").hits
        [status], failures = memory.sessions.all()

    assert [hit.path] == brought
    assert [] == again
    assert status.is_imported
    assert [] == failures


def test_a_forgotten_transcript_stays_forgotten_when_the_index_is_rebuilt(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts()
        memory.sync()
        forgotten = memory.sessions.forget(["5f0c"])
        gone = memory.search("blue barrel").hits
        memory.reset()
        after = memory.search("blue barrel").hits
        with pytest.raises(NotFoundError):
            memory.get(forgotten[0])

    assert 1 == len(forgotten)
    assert () == gone == after
    assert claude.is_file()


def test_a_copy_is_deleted_even_if_the_conversation_went_on(
    workspace: Path, environ: dict[str, str], claude: Path, tmp_path: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts()
        kept = [*(tmp_path / "home").rglob("5f0c.jsonl")]
        with claude.open("a", encoding="utf-8") as stream:
            stream.write(row("user", "And?", at="2026-02-01T09:05:00Z", cwd=workspace) + "\n")
        memory.sessions.forget(["5f0c"])

    assert 1 == len(kept)
    assert [] == [*(tmp_path / "home").rglob("5f0c.jsonl")]
    assert claude.is_file()


def test_a_forgotten_transcript_can_be_searched_again(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    both = {**environ, "RECOLLECT_SOURCES": "memory,sessions", "RECOLLECT_PROVIDER": "none"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env=both,
            capture_output=True,
            text=True,
            check=False,
        )

    run("sessions", "import")
    forgotten = run("sessions", "forget", "5f0c")
    listed = run("sessions", "list").stdout
    imported = run("sessions", "import", str(claude))
    gone = run("search", "barrel").stdout
    [command] = re.findall("→ `([^`]+)`", forgotten.stdout)
    undone = run(*shlex.split(command)[3:])
    found = run("search", "barrel").stdout
    again = run("sessions", "forget", "--undo", "5f0c")

    assert command in listed
    assert "0 imported\n" == imported.stdout
    [undo] = re.findall("it was forgotten. `([^`]+)`", imported.stderr)
    assert undo.split()[1:] == shlex.split(command)[3:]
    assert "No matches.\n" == gone
    assert (0, True) == (undone.returncode, undone.stdout.startswith("No longer forgotten: "))
    assert "blue barrel" in found
    assert (1, True) == (again.returncode, "Forgotten transcripts: none." in again.stderr)


def test_a_transcript_that_is_gone_says_so_when_it_is_let_in_again(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.forget(["5f0c"])
    claude.unlink()

    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), "sessions", "forget", "--undo",
         "5f0c.jsonl"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert 0 == done.returncode
    assert "recollect sessions import FILE" in done.stdout


def test_the_only_copy_of_a_transcript_is_deleted_only_when_that_is_said(
    workspace: Path, environ: dict[str, str], claude: Path, tmp_path: Path
) -> None:
    both = {**environ, "RECOLLECT_SOURCES": "memory,sessions", "RECOLLECT_PROVIDER": "none"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env=both,
            capture_output=True,
            text=True,
            check=False,
        )

    run("sessions", "import")
    claude.unlink()
    refused = run("sessions", "forget", "5f0c")
    found = run("search", "barrel").stdout
    [command] = re.findall("→ `recollect ([^`]+)` deletes it", refused.stderr)
    done = run(*shlex.split(command))

    assert (2, True) == (refused.returncode, "deletes it for good" in refused.stderr)
    assert "blue barrel" in found
    assert 0 == done.returncode
    assert "it cannot be restored" in done.stdout
    assert "--undo" not in done.stdout
    assert "No matches.\n" == run("search", "barrel").stdout
    assert [] == [*(tmp_path / "home").rglob("5f0c.jsonl")]


def test_a_copy_that_holds_more_than_the_agents_file_counts_as_the_only_one(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sessions.import_transcripts()
        before = memory.sessions.last_copies(["5f0c"])
        lines = claude.read_text(encoding="utf-8").splitlines(keepends=True)
        claude.write_text(lines[0], encoding="utf-8")
        after = memory.sessions.last_copies(["5f0c"])
        with pytest.raises(UsageError, match="is the only one"):
            memory.sessions.forget(["5f0c"])

    assert [] == before
    assert 1 == len(after)


def test_what_is_no_transcript_is_not_to_be_removed_but_not_named(
    workspace: Path, environ: dict[str, str]
) -> None:
    note = workspace / "MEMORY.md"
    note.write_text("# Notes\n", encoding="utf-8")

    with (
        Memory.open(workspace, environ=environ, settings=BOTH) as memory,
        pytest.raises(UsageError) as raised,
    ):
        memory.sessions.import_transcripts([str(note)])

    assert "Name a transcript, or a folder of transcripts." == raised.value.action


def test_a_named_agent_has_the_transcripts_of_that_agent_of_openclaw(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    for agent, word in (("main", "lighthouse"), ("other", "windmill")):
        folder = tmp_path / "user" / ".openclaw" / "agents" / agent / "sessions"
        folder.mkdir(parents=True)
        rows: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-02-01T09:00:00Z"},
            {
                "type": "message",
                "id": "m1",
                "timestamp": "2026-02-01T09:00:01Z",
                "message": {"role": "user", "content": f"Remember the {word}."},
            },
        ]
        (folder / "s1.jsonl").write_text(
            "".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8"
        )

    with Memory.open(workspace, agent="main", environ=environ, settings=BOTH) as memory:
        own = memory.search("lighthouse").hits
        foreign = memory.search("windmill").hits

    assert ["sessions/main/s1.jsonl"] == [hit.path for hit in own]
    assert () == foreign


def test_the_commands_list_import_and_forget(
    workspace: Path, environ: dict[str, str], claude: Path
) -> None:
    del claude
    both = {
        **environ,
        "RECOLLECT_SOURCES": "memory,sessions",
        "RECOLLECT_PROVIDER": "none",
    }

    def run(*arguments: str, env: dict[str, str] = both) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    off = run("sessions", "list", "--json", env=environ)
    run("index")
    listed = json.loads(run("sessions", "list", "--json").stdout)
    imported = json.loads(run("sessions", "import", "--json").stdout)
    shown = run("search", "barrel").stdout
    forgotten = json.loads(run("sessions", "forget", "5f0c.jsonl", "--json").stdout)
    unknown = run("sessions", "forget", "nobody")
    after = run("sessions", "list").stdout

    assert json.loads(off.stdout)["searched"] is False
    assert 'sources = ["memory", "sessions"]' in off.stderr
    assert ["indexed"] == [each["state"] for each in listed["sessions"]]
    assert imported["imported"] == forgotten["forgotten"]
    assert "user, assistant, 2026-02-01T09:00:00Z" in shown
    assert 1 == unknown.returncode
    assert "sessions list" in unknown.stderr
    assert "forgotten" in after


@pytest.mark.parametrize("damage", ["[", "{}"])
def test_a_damaged_list_of_forgotten_transcripts_brings_none_of_them_back(
    workspace: Path, environ: dict[str, str], claude: Path, damage: str
) -> None:
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        memory.sync()
        memory.sessions.forget(["5f0c"])
        [listed] = Path(environ["RECOLLECT_HOME"]).rglob("forgotten.json")
        listed.write_text(damage, encoding="utf-8")

        results = memory.search("spare key barrel")

        assert () == results.hits
        assert any("forgotten" in notice and "backup" in notice for notice in results.notices)
        with pytest.raises(StoreError, match="forgotten"):
            memory.sessions.forgotten()

    assert claude.is_file()
