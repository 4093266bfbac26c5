"""`right` and `wrong` on a hit: kept as cases in the home, and measured by `recollect eval`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import Cli

from recollect import Memory
from recollect.errors import NotFoundError, QueryError
from recollect.evaluate.cases import read_cases
from recollect.evaluate.feedback import keep_feedback

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[[str, str], Path]


@pytest.fixture
def cli(workspace: Path, environ: dict[str, str], write: Write) -> Cli:
    write("memory/a.md", "The boat is red.\n")
    write("memory/b.md", "The boat is blue.\n")
    return Cli(workspace, {**environ, "RECOLLECT_PROVIDER": "none"})


def cases_of(cli: Cli) -> list[dict[str, Any]]:
    (file,) = (Path(cli.environ["RECOLLECT_HOME"]) / "cases").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_hit_that_is_right_becomes_a_case_which_eval_measures_without_a_file(cli: Cli) -> None:
    kept = cli("search", "boat", "--right", "1", "--wrong", "2")
    measured = cli("eval")

    assert "memory/b.md#L1 is kept as right" in kept.stderr
    assert [
        {
            "query": "boat",
            "kind": "feedback",
            "expected": [{"path": "memory/b.md", "lines": [1, 1]}],
            "wrong": [{"path": "memory/a.md", "lines": [1, 1]}],
        }
    ] == cases_of(cli)
    assert "1 case, from" in measured.stdout
    assert "1 of 1 wrong hits are still among the first 6." in measured.stdout


def test_the_last_word_on_a_hit_counts(cli: Cli) -> None:
    cli("search", "boat", "--right", "1")
    cli("search", "boat", "--wrong", "1")
    (case,) = cases_of(cli)

    assert ([], 1) == (case.get("expected"), len(case["wrong"]))


def test_a_place_that_no_hit_has_is_refused(cli: Cli) -> None:
    refused = cli("search", "boat", "--right", "9")

    assert 2 == refused.returncode
    assert "There is no hit 9: 2 were found." in refused.stderr


def test_without_feedback_eval_says_what_it_needs(cli: Cli) -> None:
    assert "Name a file of cases." in cli("eval").stderr


def test_feedback_does_not_change_a_ranking_or_the_workspace(cli: Cli) -> None:
    before, files = cli.json("search", "boat"), sorted(cli.workspace.rglob("*"))
    cli("search", "boat", "--wrong", "1")
    after = cli.json("search", "boat")

    assert before["results"] == after["results"]
    assert files == sorted(cli.workspace.rglob("*"))


def test_hits_of_other_memories_and_of_the_main_checkout_are_judged_as_shown(
    cli: Cli, environ: dict[str, str]
) -> None:
    notes = Path(environ["HOME"]) / "notes"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("My dentist is Doctor Albers.\n", encoding="utf-8")
    git = cli.workspace / ".git"
    (git / "worktrees" / "feature").mkdir(parents=True)
    feature = cli.workspace.with_name("feature")
    feature.mkdir()
    (feature / ".git").write_text(f"gitdir: {git}/worktrees/feature\n", encoding="utf-8")
    (git / "worktrees" / "feature" / "gitdir").write_text(f"{feature}/.git\n", encoding="utf-8")
    worktree = Cli(feature, {**cli.environ, "RECOLLECT_ALSO": "~/notes"})

    worktree("search", "who is my dentist", "--right", "1")
    kept = worktree("search", "red boat", "--right", "1")
    measured = worktree("eval")

    cases = [(case["query"], case["expected"][0]["path"]) for case in cases_of(cli)]
    assert f"{cli.workspace}/memory/a.md#L1 is kept as right" in kept.stderr
    assert [
        ("who is my dentist", "~/notes/MEMORY.md"),
        ("red boat", f"{cli.workspace}/memory/a.md"),
    ] == cases
    assert "2 cases, from" in measured.stdout
    assert "not an indexed file" not in measured.stderr


def test_feedback_on_what_is_not_indexed_is_refused(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The boat is red.\n")
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        memory.sync()
        with pytest.raises(NotFoundError, match=r"memory/x\.md#L1-L1 is not indexed"):
            keep_feedback(memory.parts, "boat", "memory/x.md#L1", right=True)
        with pytest.raises(NotFoundError, match="is not indexed"):
            keep_feedback(memory.parts, "boat", "memory/a.md#L1-L9", right=True)


def test_a_question_that_cannot_be_asked_is_not_kept(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The boat is red.\n")
    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        memory.sync()
        with pytest.raises(QueryError, match="at most 4,000"):
            keep_feedback(memory.parts, "boat " * 1000, "memory/a.md", right=True)
        assert not memory.parts.setup.places.cases_of(memory.parts.agent).exists()


def test_a_hit_cannot_be_both_right_and_wrong(cli: Cli) -> None:
    refused = cli("search", "boat", "--right", "1", "--wrong", "1")

    assert (2, "Hit 1 cannot be both" in refused.stderr) == (refused.returncode, True)
    assert not (Path(cli.environ["RECOLLECT_HOME"]) / "cases").exists()


def test_what_several_processes_keep_at_once_is_all_there(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "The boat is red.\n")

    def keep(name: str) -> None:
        with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
            for number in range(10):
                keep_feedback(memory.parts, f"{name} {number}", "memory/a.md", right=True)

    with Memory.open(workspace, settings={"provider": "none"}, environ=environ) as memory:
        memory.sync()
        file = memory.parts.setup.places.cases_of(memory.parts.agent)
    with ThreadPoolExecutor() as threads:  # each memory has locks of its own, as a process has
        list(threads.map(keep, ("boat", "ship", "raft", "ferry")))

    assert 40 == len(read_cases(file))
