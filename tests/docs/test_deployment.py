"""The files in examples/deploy run commands and options that exist."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest
from tests.docs.pages import ROOT

from recollect.shells.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((ROOT / "examples" / "deploy").iterdir())
_COMMAND = re.compile(r"^ *(?:command: |ExecStart=\S*/)(recollect .*)$", re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_command_of_a_deployment_exists(file: Path) -> None:
    for line in _COMMAND.findall(file.read_text("utf-8")):
        words = shlex.split(line)[1:]
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        offered = {name for option in command.params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= offered, line


def test_the_deployments_run_something() -> None:
    found = [line for file in FILES for line in _COMMAND.findall(file.read_text("utf-8"))]

    assert len(found) > len(FILES) // 2
