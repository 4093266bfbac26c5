"""The Markdown that agents keep as their own memory, as a source: read in place, never written."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import ConfigError, Memory, NotFoundError, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOTH = {"sources": ["memory", "agents"], "provider": "none"}


def slug(folder: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in str(folder))


@pytest.fixture
def home(environ: dict[str, str], workspace: Path) -> Path:
    """A home with what four agents remember; one of the notes is about another project."""
    home = Path(environ["HOME"])
    notes = {
        f".claude/projects/{slug(workspace)}/memory/MEMORY.md": "The heron builds with bazel.",
        f".claude/projects/{slug(workspace.parent / 'x')}/memory/MEMORY.md": "The stork uses make.",
        ".claude/agent-memory/reviewer/MEMORY.md": "The user dislikes abbreviations.",
        ".codex/memories/memory_summary.md": "The user lives in Bergen.",
        ".hermes/memories/USER.md": "The user plays the cello.",
        ".openclaw/workspace/memory/2026-02-01.md": "The boiler was repaired.",
        ".openclaw/workspace/memory/facts/2026.md": "- The boiler is a fact of OpenClaw.",
    }
    for path, text in notes.items():
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    own = workspace / ".claude" / "agent-memory" / "tester"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("The tests need a database.\n", encoding="utf-8")
    return home


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], home: Path) -> Iterator[Memory]:
    del home
    with Memory.open(workspace, environ=environ, settings=BOTH) as opened:
        opened.sync()
        yield opened


def test_they_are_not_read_unless_asked_for(
    workspace: Path, environ: dict[str, str], home: Path, write: Callable[[str, str], Path]
) -> None:
    del home
    write("memory/a.md", "The cellist is on tour.\n")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        found = memory.search("cello", source="agents")

        assert frozenset({"memory/a.md"}) == memory.paths()
    assert any("What agents keep as their own memory is not indexed" in n for n in found.notices)
    write("recollect.toml", 'sources = ["memory", "agents"]\n')
    with pytest.raises(ConfigError, match="may not"):
        Memory.open(workspace, environ=environ)


def test_what_is_of_this_project_or_of_the_user_is_found_and_read(
    memory: Memory, workspace: Path
) -> None:
    hit = memory.search("which tool does the heron build with")[0]
    path = f"~/.claude/projects/{slug(workspace)}/memory/MEMORY.md"

    assert {
        path,
        "~/.claude/agent-memory/reviewer/MEMORY.md",
        "~/.codex/memories/memory_summary.md",
        "~/.hermes/memories/USER.md",
        "~/.openclaw/workspace/memory/2026-02-01.md",
        ".claude/agent-memory/tester/MEMORY.md",
    } == memory.paths()
    assert (path, SourceKind.AGENTS) == (hit.path, hit.source)
    assert "The heron builds with bazel." == memory.get(path).text
    assert "The tests need a database." == memory.get(".claude/agent-memory/tester/MEMORY.md").text
    with pytest.raises(NotFoundError):
        memory.get(f"~/.claude/projects/{slug(workspace.parent / 'x')}/memory/MEMORY.md")


def test_an_edit_is_seen_and_a_deleted_note_is_gone(memory: Memory, home: Path) -> None:
    (home / ".hermes" / "memories" / "USER.md").write_text("The user plays the oboe.\n")
    (home / ".codex" / "memories" / "memory_summary.md").unlink()

    found = memory.search("which instrument does the user play", source="agents")

    assert ["The user plays the oboe."] == [hit.text for hit in found.hits[:1]]
    assert "~/.codex/memories/memory_summary.md" not in memory.paths()


def test_a_link_out_of_the_workspace_is_not_followed(
    workspace: Path, environ: dict[str, str], home: Path, tmp_path: Path
) -> None:
    del home
    (tmp_path / "secret.md").write_text("The password is in the safe.\n", encoding="utf-8")
    (workspace / ".claude" / "agent-memory" / "secret.md").symlink_to(tmp_path / "secret.md")
    with Memory.open(workspace, environ=environ, settings=BOTH) as memory:
        report = memory.sync()

        assert ".claude/agent-memory/secret.md" not in memory.paths()
    assert [".claude/agent-memory/secret.md"] == [each.path for each in report.failed]


def test_a_command_lists_them_and_writes_nothing(
    workspace: Path, environ: dict[str, str], home: Path
) -> None:
    before = {file: file.stat().st_mtime_ns for file in home.rglob("*.md")}
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), "search", "--source", "agents"],
        env={**environ, "RECOLLECT_SOURCES": "memory,agents"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert 6 == len(done.stdout.splitlines())
    assert "~/.hermes/memories/USER.md" in done.stdout
    assert before == {file: file.stat().st_mtime_ns for file in home.rglob("*.md")}


def test_beside_other_memories_they_are_shown_where_they_are_and_can_be_read(
    workspace: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "notes").mkdir()
    (home / "notes" / "MEMORY.md").write_text("The user lives by the sea.\n", encoding="utf-8")
    for also in (["~/notes"], ["~/notes", "~/.hermes/memories"]):
        with Memory.open(workspace, environ=environ, settings={**BOTH, "also": also}) as memory:
            hit = memory.search("which instrument does the user play")[0]
            read = memory.get(hit.path)

        assert ("~/.hermes/memories/USER.md", "") == (hit.path, hit.memory)
        assert ("The user plays the cello.", hit.path) == (read.text, read.path)


def test_they_are_indexed_once_not_again_in_every_other_memory(
    workspace: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "notes").mkdir()
    (home / "notes" / "MEMORY.md").write_text("The user lives by the sea.\n", encoding="utf-8")

    def indexed_in_notes() -> int:
        with Memory.open(home / "notes", environ=environ, settings=BOTH) as notes:
            return len(notes.paths())

    def search() -> list[str]:
        with Memory.open(workspace, environ=environ, settings={**BOTH, "also": "~/notes"}) as both:
            return [hit.path for hit in both.search("cello boiler sea", source="agents").hits]

    found = search()
    unasked = indexed_in_notes()
    with Memory.open(home / "notes", environ=environ, settings=BOTH) as notes:
        notes.sync()
    found_again, asked = search(), indexed_in_notes()

    assert ["~/.hermes/memories/USER.md"] == [path for path in found if "hermes" in path]
    assert found == found_again
    assert (1, 5) == (unasked, asked)
