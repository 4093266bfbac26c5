"""The command that stands for `recollect` in tests where the start of a process is not the point.

It is a process of its own, forked from an interpreter that has loaded every module; see
fork_server.py. Tests of start-up, of kills from outside and of process ids start
`python -m recollect` themselves.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
STUB = Path(__file__).parent / "forked.py"


@cache
def recollect_command() -> tuple[str, ...]:
    """Return the command, to be followed by its arguments."""
    if sys.platform != "linux":
        return (sys.executable, "-m", "recollect")
    folder = tempfile.TemporaryDirectory(prefix="recollect-tests-")
    address = Path(folder.name) / "socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", address],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def stop() -> None:
        server.communicate()
        folder.cleanup()

    atexit.register(stop)
    assert server.stdout is not None
    assert "ready\n" == server.stdout.readline()
    return (sys.executable, "-IS", str(STUB), str(address))


@cache
def bin_folder() -> Path:
    """Return a folder for PATH that holds the command by its name."""
    command = recollect_command()
    folder = Path(command[-1]).parent
    script = folder / "recollect"
    script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


class Cli:
    """Runs `recollect` in a workspace."""

    def __init__(self, workspace: Path, environ: dict[str, str]) -> None:
        self.workspace = workspace
        self.environ = environ

    def __call__(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=self.workspace,
            env={**self.environ, **more},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def json(self, *arguments: str, **more: str) -> Any:
        done = self(*arguments, "--json", **more)
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout)
