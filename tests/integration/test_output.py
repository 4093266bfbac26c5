"""Whatever a note, a heading, a file name or a fact contains, no terminal obeys it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.hostile_text import HOSTILE, MARKUP, OBEYED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

NAME = "memory/2026-01-02 \x1b]0;owned\x07\u202e\x9b31m\rx.md"
STYLES = re.compile("\x1b\\[[0-9;]*m|\r?\x1b\\[2K|\r?\x1b\\[1A|\x1b\\[\\?25[lh]")
"""Colours, and what redraws a progress bar: the only escape sequences that we print."""


@pytest.fixture
def hostile(workspace: Path) -> Path:
    """A workspace in which every text tries to be obeyed."""
    (workspace / NAME).write_text(
        f"# Boats {HOSTILE}\n\nThe boat is green. {HOSTILE}\n", encoding="utf-8"
    )
    (workspace / "memory" / "boat.md").write_text(
        f"# Boats {HOSTILE}\n\nThe other boat is red. {HOSTILE}\n", encoding="utf-8"
    )
    return workspace


@pytest.fixture
def run(hostile: Path, environ: dict[str, str]) -> Run:
    def run_command(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=hostile,
            env={**environ, "RECOLLECT_PROVIDER": "none", **more},
            input=more.get("input", ""),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return run_command


def on_a_terminal(hostile: Path, environ: dict[str, str], *arguments: str) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [*recollect_command(), *arguments],
        cwd=hostile,
        env={**environ, "RECOLLECT_PROVIDER": "none", "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = bytearray()
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux: the other side is closed
        pass
    os.close(ours)
    started.wait(timeout=120)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments",
    [("search", "boat"), ("get", NAME), ("get", "memory/boat.md"), ("recall", "boat"), ("status",)],
)
def test_a_terminal_is_only_ever_told_colours(
    hostile: Path, environ: dict[str, str], arguments: tuple[str, ...]
) -> None:
    shown = on_a_terminal(hostile, environ, *arguments)

    assert shown
    assert [] == OBEYED.findall(STYLES.sub("", shown))


def test_colours_are_shown_and_markup_is_not_obeyed(hostile: Path, environ: dict[str, str]) -> None:
    shown = on_a_terminal(hostile, environ, "search", "boat")

    assert STYLES.search(shown)
    assert MARKUP in STYLES.sub("", shown)
    assert "␛]0;owned␇" in shown
