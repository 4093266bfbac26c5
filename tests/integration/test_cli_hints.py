"""What the command line says where a newcomer is stuck: why, and what to write instead."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.errors import DiskError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


class Run(Protocol):
    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none", **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return command


def test_a_question_that_begins_with_a_dash_is_answered_with_a_hint(
    run: Run, workspace: Path
) -> None:
    (workspace / "MEMORY.md").write_text("At -5 degrees the pipe freezes.\n", encoding="utf-8")

    wrong = run("search", "-5 degrees")
    right = run("search", "--", "-5 degrees")
    misspelt = run("search", "pipe", "--max-result", "1")

    assert (2, True) == (wrong.returncode, "Write `--` before a text" in wrong.stderr)
    assert "the pipe freezes" in right.stdout
    assert (True, False) == ("--max-results" in misspelt.stderr, "Write `--`" in misspelt.stderr)


def test_a_current_folder_that_is_gone_is_named(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(DiskError, match="The current folder no longer exists"):
        Memory.open(environ=environ)


@pytest.mark.parametrize("path", ["memory/tools", "./memory/tools/", "memory/tools/*"])
def test_a_folder_stands_for_what_is_in_it(run: Run, workspace: Path, path: str) -> None:
    (workspace / "memory" / "tools").mkdir(parents=True)
    (workspace / "memory" / "tools" / "saw.md").write_text("The saw is sharp.\n", encoding="utf-8")
    (workspace / "memory" / "saw.md").write_text("The saw is blunt.\n", encoding="utf-8")

    answer = json.loads(run("search", "saw", "--path", path, "--json").stdout)

    assert ["memory/tools/saw.md"] == [hit["path"] for hit in answer["results"]]


def test_what_is_nearly_right_names_what_may_be_meant(run: Run, write: Write) -> None:
    write("memory/recipes/flan.md", "---\ntags: [sweet]\n---\nBake the flan slowly.\n")
    write("memory/2020-01-02.md", "Baked a flan.\n")
    run("index")
    told = {
        ("search", "flan", "--max", "1"): "Did you mean '--max-results'?",
        ("search", "flan", "--path", "memory/recipe"): "Did you mean memory/recipes/?",
        ("search", "flan", "--path", "zebra"): "No indexed file matches the path 'zebra'.",
        ("get", "flan"): "Did you mean memory/recipes/flan.md?",
        ("search", "flan", "--tag", "sweet", "--before", "2020-02-01"): (
            "No note passes all filters; some do without before or tags."
        ),
    }

    for arguments, hint in told.items():
        assert hint in run(*arguments).stderr


def test_how_a_question_was_read_is_said_before_what_was_found(
    environ: dict[str, str], workspace: Path
) -> None:
    (workspace / "MEMORY.md").write_text("Press the garlic, add parsley.\n", encoding="utf-8")

    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), "search", "galric"],
        env={**environ, "RECOLLECT_PROVIDER": "none"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )

    assert (done.stdout.index('Searched for "garlic"')) < done.stdout.index("MEMORY.md:1-1")


def test_a_file_that_is_left_out_says_what_may_leave_it_out(run: Run, workspace: Path) -> None:
    (workspace / "memory").mkdir(exist_ok=True)
    (workspace / "memory" / "secret.md").write_text("x\n", encoding="utf-8")
    (workspace / ".recollectignore").write_text("memory/secret.md\n", encoding="utf-8")

    ignored = run("get", "memory/secret.md")

    assert "is not a memory file of this workspace." in ignored.stderr
    assert "the setting `exclude` and .recollectignore leave files out." in ignored.stderr


def test_a_setting_that_a_workspace_may_not_make_names_the_command_and_the_file(
    run: Run, workspace: Path
) -> None:
    file = workspace / "recollect.toml"
    file.write_text('[llm]\nprovider = "openai"\n', encoding="utf-8")

    refused = run("status")
    told = run("config", "set", "llm.provider", "openai")
    file.unlink()
    after = run("config", "show", "llm.provider")

    assert "`recollect config set llm.provider VALUE`" in refused.stderr
    assert "config.toml" in refused.stderr
    assert 0 == told.returncode
    assert "openai" in after.stdout


def test_a_dry_run_needs_no_key_and_a_failed_run_stores_nothing(run: Run, workspace: Path) -> None:
    (workspace / "TOOLS.md").write_text("The saw hangs in the shed.\n", encoding="utf-8")

    plan = run("ingest", "--dry-run", RECOLLECT_LLM_PROVIDER="openai")
    failed = run(
        "ingest",
        RECOLLECT_LLM_PROVIDER="openai",
        OPENAI_API_KEY="none",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    unset = run("ingest")

    assert "1 request would be sent: about" in plan.stdout
    assert (1, "0 facts stored, 0 already known (1 file, 0 unchanged)\n") == (
        failed.returncode, failed.stdout
    )  # fmt: skip
    assert "recollect config set llm.provider NAME" in unset.stderr
