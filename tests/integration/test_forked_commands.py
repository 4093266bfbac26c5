"""The stand-in that most tests run commands with ends as the real command does."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import bin_folder, recollect_command
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

REAL = (sys.executable, "-m", "recollect")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("search", "apple"),
        ("get", "memory/a.md"),
        ("nonsense",),
        ("search", "apple", "--max-results", "none"),
        ("get", "memory/gone.md", "--json"),
    ],
    ids=" ".join,
)
def test_a_command_prints_and_ends_alike(
    environ: dict[str, str], workspace: Path, arguments: tuple[str, ...]
) -> None:
    (workspace / "memory" / "a.md").write_text("An apple, 林檎.\n", encoding="utf-8")
    environ["RECOLLECT_PROVIDER"] = "none"

    real, forked = (
        subprocess.run(
            [*program, *arguments], env=environ, cwd=workspace, capture_output=True, check=False
        )
        for program in (REAL, recollect_command())
    )

    assert (real.returncode, real.stdout) == (forked.returncode, forked.stdout)
    assert real.stderr == forked.stderr


def test_variables_of_the_interpreter_are_respected(environ: dict[str, str]) -> None:
    environ["PYTHONUTF8"] = "not a number"

    done = subprocess.run(
        [bin_folder() / "recollect", "--version"], env=environ, capture_output=True, check=False
    )

    assert b"PYTHONUTF8" in done.stderr
    assert 1 == done.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_reaches_the_command(
    environ: dict[str, str], workspace: Path, number: signal.Signals
) -> None:
    environ["RECOLLECT_PROVIDER"] = "none"
    command = [*recollect_command(), "-w", str(workspace), "index", "--watch"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Watching")
        process.send_signal(number)

        # The end of the stream comes when nobody holds it any more, the command included.
        assert "" == process.stderr.read()
        wait_until(lambda: process.poll() is not None)

    assert (-number if number == signal.SIGKILL else 0) == process.returncode
