"""The files in examples/deploy run commands and options that exist."""

from __future__ import annotations

import json
import plistlib
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
_COMMAND = re.compile(r"^ *(?:command: (?=s)|ExecStart=\S*/recollect )(.*)$", re.MULTILINE)


def commands_of(file: Path) -> list[list[str]]:
    """Return the arguments of Recollect in a file of a deployment."""
    if file.suffix == ".plist":
        return [plistlib.loads(file.read_bytes())["ProgramArguments"][1:]]
    text = file.read_text("utf-8")
    if file.name == "Dockerfile":
        return [json.loads(text.rpartition("CMD ")[2])]
    return [shlex.split(line) for line in _COMMAND.findall(text)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_command_of_a_deployment_exists(file: Path) -> None:
    for line in commands_of(file):
        words = list(line)
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        offered = {name for option in command.params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= offered, line


def test_the_deployments_run_something() -> None:
    found = [line for file in FILES for line in commands_of(file)]

    assert len(found) > len(FILES) // 2
