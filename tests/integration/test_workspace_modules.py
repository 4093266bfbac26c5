"""Python files of a workspace are never imported, though commands are run inside it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import wait_for_descendants

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("click", "json", "recollect", "recollect_models", "sitecustomize", "typing")
"""Modules that a child process of Recollect would import from its folder if it could."""


@pytest.fixture
def hostile(workspace: Path) -> Path:
    """A workspace with modules that write down that they ran."""
    (workspace / "memory" / "note.md").write_text("# Note\n\nA lantern.\n", encoding="utf-8")
    for name in NAMES:
        mark = str(workspace / "ran")
        (workspace / f"{name}.py").write_text(f"open({mark!r}, 'a').write('x')", encoding="utf-8")
    return workspace


def run(hostile: Path, environ: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [*recollect_command(), *arguments],
        cwd=hostile,
        env=environ,
        input=json.dumps({"cwd": str(hostile)}),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_the_process_that_finishes_an_index_does_not(
    hostile: Path, environ: dict[str, str]
) -> None:
    own = {**environ, "RECOLLECT_PROVIDER": "none"}

    run(hostile, own, "hook", "stop")
    wait_for_descendants(own)

    assert 1 == json.loads(run(hostile, own, "status", "--json"))["index"]["documents"]
    assert not (hostile / "ran").exists()
