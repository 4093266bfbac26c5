"""The recipe that gives any command-line model what memory holds; `cat` stands in for a model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.support.commands import bin_folder

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "integrations" / "shell" / "with-memory.sh"


@pytest.fixture
def shell(environ: dict[str, str], sample: Path) -> dict[str, str]:
    return {
        **environ,
        "RECOLLECT": str(bin_folder() / "recollect"),
        "RECOLLECT_PROVIDER": "none",
        "RECOLLECT_WORKSPACE": str(sample),
    }


def run(shell: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", SCRIPT, *arguments], env=shell, capture_output=True, text=True, check=False
    )


def test_a_model_is_given_what_memory_holds_and_then_the_prompt(shell: dict[str, str]) -> None:
    done = run(shell, "how do we roll back a deploy?", "cat")
    memory, _, end = done.stdout.partition("</recollect-memory")
    _, _, prompt = end.partition(">")

    assert 0 == done.returncode
    assert "Roll-back is one command" in memory
    assert "\n\nhow do we roll back a deploy?\n" == prompt


def test_a_model_is_given_the_prompt_alone_where_memory_has_nothing(shell: dict[str, str]) -> None:
    assert "-x zxqv\n" == run(shell, "-x zxqv", "cat").stdout


def test_the_models_own_arguments_and_exit_code_are_kept(shell: dict[str, str]) -> None:
    done = run(shell, "zxqv wvut", "sh", "-c", 'cat; echo "$1"; exit 7', "model", "two words")

    assert (7, "zxqv wvut\ntwo words\n") == (done.returncode, done.stdout)


def test_without_a_memory_the_prompt_goes_on_alone_and_the_reason_is_said(
    shell: dict[str, str],
) -> None:
    shell["RECOLLECT_WORKSPACE"] = "/nowhere/at/all"
    done = run(shell, "how do we roll back a deploy?", "cat")

    assert (0, "how do we roll back a deploy?\n") == (done.returncode, done.stdout)
    assert "is not a folder" in done.stderr


def test_a_call_without_a_model_is_wrong_usage(shell: dict[str, str]) -> None:
    assert 2 == run(shell, "how do we roll back a deploy?").returncode
