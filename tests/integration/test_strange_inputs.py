"""Inputs that a fuzzer found: each once ended a command with a traceback, or kept it busy."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.evaluate.cases import read_cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def plain(environ: dict[str, str]) -> dict[str, str]:
    return {**environ, "RECOLLECT_PROVIDER": "none"}


def test_a_glob_that_is_not_valid_unicode_matches_nothing(
    write: Callable[[str, str], Path], workspace: Path, plain: dict[str, str]
) -> None:
    write("memory/boat.md", "The boat is green.\n")
    done = subprocess.run(
        [*recollect_command(), "search", "boat", "--path", b"\xff*"],
        cwd=workspace,
        env=plain,
        capture_output=True,
        check=False,
    )

    assert (0, b"No matches.\n") == (done.returncode, done.stdout)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["[b-a]*", "[]-a]", "a[\\]--z]"])
def test_an_ignore_file_with_a_bad_range_is_reported_and_excludes_nothing(
    write: Callable[[str, str], Path], workspace: Path, plain: dict[str, str], line: str
) -> None:
    write("memory/boat.md", "The boat is green.\n")
    write(".recollectignore", f"{line}\n")
    with Memory.open(workspace, environ=plain) as memory:
        memory.sync()

        assert ["memory/boat.md"] == [hit.path for hit in memory.search("boat").hits]


def test_a_place_may_have_a_line_break_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({"query": "q", "expected": ["a\nb.md:3"]}), encoding="utf-8")
    [case] = read_cases(file)

    assert [("a\nb.md", (3, 3))] == [(place.path, place.lines) for place in case.expected]


def test_a_line_of_a_million_spaces_in_a_file_of_facts_is_read_in_a_moment(
    write: Callable[[str, str], Path], workspace: Path, plain: dict[str, str]
) -> None:
    # It would take an hour if it grew with the square.
    write("memory/facts/other.md", "- The boat is green.\n" + " " * 1_000_000 + "\n")
    with Memory.open(workspace, environ=plain) as memory:
        memory.sync()

        assert memory.search("boat").hits
