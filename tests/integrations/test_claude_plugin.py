"""The plugin for Claude Code: its files agree with the program, and its hooks always end well."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from recollect.shells.cli.hook import EVENTS

PLUGIN = Path(__file__).parents[2] / "integrations" / "plugin"
SCRIPT = PLUGIN / "hooks" / "hook.sh"


def read(path: str) -> Any:
    return json.loads((PLUGIN / path).read_text(encoding="utf-8"))


def run(program: Path | str, event: str, *, said: str = "{}") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", SCRIPT, event],
        input=said,
        env={"PATH": os.environ["PATH"], "RECOLLECT": str(program)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Stands in for Recollect; what it does is written by the test."""
    file = tmp_path / "recollect"
    file.touch(mode=0o755)
    return file


def test_every_hook_calls_an_event_that_the_program_knows() -> None:
    commands = [
        hook["command"]
        for groups in read("hooks/hooks.json")["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]

    assert set(EVENTS) == {command.rsplit(" ", 1)[1] for command in commands}
    assert all("${CLAUDE_PLUGIN_ROOT}/hooks/hook.sh" in command for command in commands)


def test_the_server_is_started_by_the_same_program_as_the_hooks() -> None:
    server = read(".mcp.json")["mcpServers"]["recollect"]

    assert ("${RECOLLECT:-recollect}", ["mcp"]) == (server["command"], server["args"])
    assert "${RECOLLECT:-recollect}" in SCRIPT.read_text(encoding="utf-8")


def test_what_the_program_answers_is_passed_on_with_what_it_was_told(program: Path) -> None:
    program.write_text('#!/bin/sh\necho "$@"\ncat\n', encoding="utf-8")
    done = run(program, "prompt", said="the event")

    assert (0, "hook prompt\nthe event") == (done.returncode, done.stdout)


@pytest.mark.parametrize("code", [1, 2, 127])
def test_a_program_that_fails_is_named_and_blocks_nothing(program: Path, code: int) -> None:
    program.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    done = run(program, "prompt")

    assert 0 == done.returncode
    assert f"code {code}" in json.loads(done.stdout)["systemMessage"]


def test_a_program_that_is_not_there_is_said_once_a_session() -> None:
    start, prompt = (run("no-such-recollect", event) for event in ("session-start", "prompt"))

    assert (0, 0) == (start.returncode, prompt.returncode)
    assert "RECOLLECT" in json.loads(start.stdout)["systemMessage"]
    assert "" == prompt.stdout
