"""The worktrees of a git repository, and a checkout that is moved, have one memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

QUIET = {"provider": "none"}
WITH_TALK = {"provider": "none", "sources": ["memory", "sessions"]}


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        env=environ,
        check=True,
        capture_output=True,
    )


def say(environ: Mapping[str, str], folder: Path, session: str, text: str) -> None:
    """Hold a conversation of Claude Code in a folder."""
    name = "".join(c if c.isalnum() else "-" for c in str(folder))
    place = Path(environ["HOME"]) / ".claude" / "projects" / name
    place.mkdir(parents=True, exist_ok=True)
    row = {
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": session,
        "timestamp": "2026-02-01T09:00:00Z",
        "sessionId": session,
        "cwd": str(folder),
    }
    (place / f"{session}.jsonl").write_text(f"{json.dumps(row)}\n", encoding="utf-8")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository whose notes are committed, but for a private one that git ignores."""
    folder = tmp_path / "app"
    (folder / "memory").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("memory/facts/\nmemory/private.md\n")
    (folder / "MEMORY.md").write_text("- The release train leaves on Monday.\n")
    (folder / "memory" / "private.md").write_text("The depot code is 4711.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "notes")
    return folder


@pytest.fixture
def feature(app: Path) -> Path:
    """A worktree of it, in which a note was changed."""
    folder = app.parent / "feature"
    git(app, "worktree", "add", "-q", str(folder))
    (folder / "MEMORY.md").write_text("- The release train leaves on Friday.\n")
    return folder


def test_a_worktree_has_its_own_notes_and_those_that_only_the_main_checkout_has(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    with Memory.open(feature, environ=environ, settings=QUIET) as memory:
        train = memory.search("when does the release train leave").hits
        depot = memory.search("depot code").hits
        status = memory.status()
        text = memory.get(depot[0].path).text

    assert ["- The release train leaves on Friday."] == [hit.text for hit in train]
    assert [f"{app}/memory/private.md"] == [hit.path for hit in depot]
    assert "The depot code is 4711." == text
    assert (str(app),) == status.checkouts
    assert [str(app)] == list(status.also)


def test_what_is_remembered_in_a_worktree_outlives_it(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    with Memory.open(feature, environ=environ, settings=QUIET) as memory:
        fact = memory.facts.remember("The heron lives in the staging cluster.").fact
        there = memory.search("where does the heron live").hits
    git(app, "worktree", "remove", "--force", str(feature))
    with Memory.open(app, environ=environ, settings=QUIET) as memory:
        here = memory.search("where does the heron live").hits

    assert [fact.id] == [hit.fact.id for hit in there if hit.fact]
    assert [fact.id] == [hit.fact.id for hit in here if hit.fact]
    assert not (feature / "memory" / "facts").exists()


def test_a_worktree_with_a_ledger_of_its_own_keeps_it(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    (feature / "memory" / "facts").mkdir(parents=True)
    with Memory.open(feature, environ=environ, settings=QUIET) as memory:
        memory.facts.remember("The heron lives in the staging cluster.")

    assert any((feature / "memory" / "facts").glob("*.md"))
    assert not (app / "memory" / "facts").exists()


def test_what_was_said_in_one_is_found_in_all(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    say(environ, app, "aaaa", "The spare key hangs behind the blue barrel.")
    say(environ, feature, "bbbb", "The ladder stands behind the red barrel.")
    say(environ, app.parent / "stranger", "cccc", "The cat sits on the green barrel.")
    for folder in (app, feature):
        with Memory.open(folder, environ=environ, settings=WITH_TALK) as memory:
            found = {hit.text for hit in memory.search("barrel").hits}

        assert {
            "User: The spare key hangs behind the blue barrel.",
            "User: The ladder stands behind the red barrel.",
        } == found


def test_a_background_process_finds_what_was_imported_for_all_of_them(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    say(environ, app, "aaaa", "The spare key hangs behind the blue barrel.")
    with Memory.open(app, environ=environ, settings=WITH_TALK) as memory:
        memory.sessions.import_transcripts()
    shutil.rmtree(Path(environ["HOME"]) / ".claude")
    with Memory.open(feature, environ=environ, settings=WITH_TALK) as memory:
        first = memory.sync()
        agent = memory.agent
    with Memory.open(feature, agent=agent, environ=environ, settings=WITH_TALK) as memory:
        as_started = memory.sync()

    assert (2, 0) == (first.added, as_started.removed)


def test_a_worktree_whose_main_checkout_was_moved_says_how_to_connect_them(
    app: Path, environ: dict[str, str]
) -> None:
    git(app, "rm", "-q", "--cached", "MEMORY.md")
    git(app, "commit", "-qm", "keep notes out of git")
    feature = app.parent / "bare"
    git(app, "worktree", "add", "-q", str(feature))
    moved = app.rename(app.parent / "elsewhere")
    with Memory.open(feature, environ=environ, settings=QUIET) as memory:
        lost = memory.search("depot")
    git(moved, "worktree", "repair")
    with Memory.open(feature, environ=environ, settings=QUIET) as memory:
        found = memory.search("depot")

    assert ((), True) == (lost.hits, any("git worktree repair" in told for told in lost.notices))
    assert [f"{moved}/memory/private.md"] == [hit.path for hit in found.hits]
    assert not any("git worktree repair" in told for told in found.notices)


def test_sharing_can_be_turned_off(app: Path, feature: Path, environ: dict[str, str]) -> None:
    say(environ, app, "aaaa", "The spare key hangs behind the blue barrel.")
    settings = {**WITH_TALK, "worktrees": False}
    with Memory.open(feature, environ=environ, settings=settings) as memory:
        assert () == memory.search("barrel").hits == memory.search("depot").hits
        memory.facts.remember("The heron lives in the staging cluster.")
        assert () == memory.status().checkouts

    assert (feature / "memory" / "facts").exists()


def test_no_text_is_embedded_twice_for_two_worktrees(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    with Memory.open(app, environ=environ) as memory:
        first = memory.sync()
    with Memory.open(feature, environ=environ, settings={"worktrees": False}) as memory:
        second = memory.sync()
    with Memory.open(app, environ=environ) as memory:
        again = memory.sync()

    assert (2, 1, 0) == (first.embedded, second.embedded, again.embedded)
    assert (0, 0, 2) == (again.added, again.changed, again.unchanged)


def test_a_moved_checkout_keeps_its_index_and_what_was_said_at_its_old_place(
    app: Path, environ: dict[str, str]
) -> None:
    say(environ, app, "aaaa", "The spare key hangs behind the blue barrel.")
    with Memory.open(app, environ=environ, settings=WITH_TALK) as memory:
        memory.sync()
        memory.sessions.import_transcripts()
    shutil.rmtree(Path(environ["HOME"]) / ".claude")
    moved = app.rename(app.parent / "elsewhere")
    say(environ, app, "bbbb", "The ladder stands behind the red barrel.")

    with Memory.open(moved, environ=environ, settings=WITH_TALK) as memory:
        report = memory.sync()
        found = memory.search("barrel").hits

    assert any("moved to" in notice for notice in report.notices)
    assert (0, 3) == (report.changed, report.unchanged)
    assert 2 == len(found)
    assert 1 == len(list((Path(environ["RECOLLECT_HOME"]) / "memory").glob("*.sqlite")))


def test_a_copy_of_a_checkout_is_a_memory_of_its_own(app: Path, environ: dict[str, str]) -> None:
    with Memory.open(app, environ=environ, settings=QUIET) as memory:
        memory.sync()
    copy = Path(shutil.copytree(app, app.parent / "copy"))
    with Memory.open(copy, environ=environ, settings=QUIET) as memory:
        report = memory.sync()

    assert 2 == report.added
    assert 2 == len(list((Path(environ["RECOLLECT_HOME"]) / "memory").glob("*.sqlite")))


@pytest.mark.parametrize("trick", ["forged", "linked", "nested", "listed"])
def test_a_strangers_folder_cannot_join_a_repository(
    app: Path, feature: Path, environ: dict[str, str], tmp_path: Path, trick: str
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "MEMORY.md").write_text("- Nothing.\n")
    victim = app / ".git" / "worktrees" / feature.name
    match trick:
        case "forged":  # names a worktree of the repository, which names another folder
            (evil / ".git").write_text(f"gitdir: {victim}\n")
        case "linked":
            (evil / ".git").symlink_to(app / ".git")
        case "nested":  # has a git folder of its own that calls the repository its common one
            own = evil / "sub" / ".git" / "worktrees" / "x"
            own.mkdir(parents=True)
            (own / "gitdir").write_text(f"{evil / '.git'}\n")
            (own / "commondir").write_text(f"{app / '.git'}\n")
            (evil / ".git").write_text(f"gitdir: {own}\n")
        case "listed":  # is a repository that lists the other one as its worktree
            entry = evil / ".git" / "worktrees" / "x"
            entry.mkdir(parents=True)
            (entry / "gitdir").write_text(f"{feature / '.git'}\n")
    say(environ, app, "aaaa", "The spare key hangs behind the blue barrel.")
    say(environ, feature, "bbbb", "The ladder stands behind the red barrel.")

    with Memory.open(evil, environ=environ, settings=WITH_TALK) as memory:
        found = memory.search("barrel depot release").hits
        checkouts = memory.status().checkouts

    assert () == found
    assert not {str(app), str(feature)} & {*checkouts}


def test_a_worktree_of_a_bare_repository_shares_what_was_said(
    app: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet"
    git(app, "clone", "-q", "--bare", str(app), str(fleet / ".git"))
    for name in ("one", "two"):
        git(fleet, "worktree", "add", "-q", "-b", name, str(fleet / name))
    say(environ, fleet / "one", "aaaa", "The spare key hangs behind the blue barrel.")

    with Memory.open(fleet / "two", environ=environ, settings=WITH_TALK) as memory:
        found = memory.search("barrel").hits
        status = memory.status()

    assert 1 == len(found)
    assert (str(fleet / "one"),) == status.checkouts
    assert {} == status.also


def test_the_status_says_with_which_worktrees_a_memory_is_shared(
    app: Path, feature: Path, environ: dict[str, str]
) -> None:
    done = subprocess.run(
        [*recollect_command(), "-w", str(feature), "status"],
        env={**environ, "RECOLLECT_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"Worktrees  {app}\n" in done.stdout


def test_commands_and_hooks_in_a_worktree_without_notes_use_those_of_the_main_checkout(
    app: Path, environ: dict[str, str]
) -> None:
    git(app, "rm", "-q", "--cached", "MEMORY.md")
    git(app, "commit", "-qm", "keep notes out of git")
    git(app, "worktree", "add", "-q", str(app.parent / "bare"))
    below = app.parent / "bare" / "src"
    below.mkdir()
    prompt = json.dumps({"prompt": "What is the depot code, please?", "cwd": str(below)})

    def run(*arguments: str) -> str:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=below,
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            input=prompt,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert f"{app}/memory/private.md" in run("search", "depot code")
    assert f"[{app}/memory/private.md#L1]" in run("hook", "prompt")
    assert f"Workspace  {app.parent / 'bare'}\n" in run("status")
