"""`recollect install` as a user calls it, in a home that is nobody's."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from recollect.shells.cli import cli, run

if TYPE_CHECKING:
    from pathlib import Path


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Install:
    """Runs the command in a project, for a workspace; no agent of the user's is touched."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home = folder / "user"
        self.project = folder / "project"
        self.workspace = folder / "my notes"
        for each in (self.home, self.project, self.workspace):
            each.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, agent: str, *options: str, **more: str) -> Done:
        """Run it for an agent, or without a name if that is empty."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.project)
            patch.setattr(os, "environ", {**self.environ, **more})
            code = run(
                cli, ["install", *filter(None, [agent]), "-w", str(self.workspace), *options]
            )
        return Done(code, *self._capsys.readouterr())

    def well(self, agent: str, *options: str, **more: str) -> str:
        done = self(agent, *options, **more)
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def json(self, agent: str, *options: str, **more: str) -> Any:
        return json.loads(self.well(agent, "--json", *options, **more))

    def files(self) -> dict[str, str]:
        """What is in the home and the project, but for Recollect's own notes."""
        return {
            f"{root.name}/{path.relative_to(root)}": path.read_bytes().decode("utf-8")
            for root in (self.home, self.project)
            for path in sorted(root.rglob("*"))
            if path.is_file() and "share/recollect" not in str(path)
        }


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Install:
    return Install(tmp_path, monkeypatch, capsys)
