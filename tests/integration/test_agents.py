"""Several memories in one home: apart from each other, listed, removed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.commands import recollect_command

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

KEYWORDS = {"provider": "none"}


def run(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def second(workspace: Path) -> Path:
    other = workspace.parent / "other"
    (other / "memory").mkdir(parents=True)
    (other / "memory" / "b.md").write_text("The windmill turns.\n", encoding="utf-8")
    return other


def test_memories_of_one_home_do_not_see_each_other(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    other = second(workspace)
    with Memory.open(workspace, environ=environ, settings=KEYWORDS) as one:
        with Memory.open(other, environ=environ, settings=KEYWORDS) as two:
            assert one.agent != two.agent
            assert 1 == len(two.search("windmill").hits)
        assert 1 == len(one.search("lighthouse").hits)
        assert () == one.search("windmill").hits


def test_agents_are_listed_with_their_workspaces_and_can_be_removed(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    other = second(workspace)
    for each in (workspace, other):
        with Memory.open(each, environ=environ, settings=KEYWORDS) as memory:
            memory.sync()
            gone = memory.agent
    shutil.rmtree(other)

    listed = json.loads(run(environ, "status", "--all", "--json").stdout)["agents"]
    text = run(environ, "status", "--all").stdout
    asked = run(environ, "reset", gone)
    removed = run(environ, "reset", gone, "--yes")
    again = run(environ, "reset", gone, "--yes")
    left = json.loads(run(environ, "status", "--all", "--json").stdout)["agents"]

    assert {str(workspace): True, str(other): False} == {
        each["workspace"]: each["workspaceExists"] for each in listed
    }
    assert f"recollect reset {gone} --yes" in text
    assert (2, True) == (asked.returncode, "asks for confirmation: add --yes" in asked.stderr)
    assert (0, 1) == (removed.returncode, again.returncode)
    assert "UserWarning" not in removed.stderr
    assert [str(workspace)] == [each["workspace"] for each in left]


def test_an_index_taken_over_by_another_workspace_says_so(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    other = second(workspace)
    with Memory.open(workspace, agent="shared", environ=environ, settings=KEYWORDS) as memory:
        memory.sync()

    with Memory.open(other, agent="shared", environ=environ, settings=KEYWORDS) as memory:
        results = memory.search("windmill")

    assert any(str(workspace) in notice for notice in results.notices)
    assert 1 == len(results.hits)


def test_two_spellings_of_a_folder_are_one_workspace(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    dotted = workspace.parent / "nowhere" / ".." / workspace.name
    (workspace.parent / "nowhere").mkdir()
    keywords = {**environ, "RECOLLECT_PROVIDER": "none"}

    for each in (workspace, link, dotted, workspace):
        found = run(keywords, "-w", str(each), "search", "lighthouse")
        assert (0, "") == (found.returncode, found.stderr)
        shown = json.loads(run(keywords, "-w", str(each), "status", "--json").stdout)
        assert str(workspace.resolve()) == shown["workspace"]

    (listed,) = json.loads(run(keywords, "status", "--all", "--json").stdout)["agents"]
    assert str(workspace.resolve()) == listed["workspace"]


def test_an_index_that_another_workspace_takes_over_says_so(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    other = second(workspace)
    keywords = {**environ, "RECOLLECT_PROVIDER": "none"}
    run(keywords, "-w", str(workspace), "--agent", "shared", "index")

    taken = run(keywords, "-w", str(other), "--agent", "shared", "search", "windmill")

    told = f"This index was built for {workspace}; it is now used for {other}."
    assert told in taken.stderr


def test_an_index_that_cannot_be_read_is_not_said_to_be_empty(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The lighthouse shines.\n")
    with Memory.open(workspace, environ=environ, settings=KEYWORDS) as memory:
        memory.sync()
        file = Path(memory.status().index.location)
    file.write_bytes(b"no database\n" * 1_000)

    done = run(environ, "status", "--all")

    assert 1 == done.returncode
    assert f"{file.stem}  cannot be read, " in done.stdout
    assert "is damaged" in done.stdout
    assert "0 files" not in done.stdout
    assert "unknown workspace" not in done.stdout
