"""The files in examples/deploy run commands and options that exist."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from tests.docs.pages import ROOT

from recollect.shells.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((ROOT / "examples" / "deploy").iterdir())
UNITS = [file for file in FILES if file.suffix == ".service"]
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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd checks its units")
@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_systemd_finds_nothing_wrong_with_a_unit(file: Path, tmp_path: Path) -> None:
    text = re.sub(
        r"^ExecStart=\S+",
        f"ExecStart={sys.executable}",
        file.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    (tmp_path / file.name).write_text(text, encoding="utf-8")
    (tmp_path / "wrong.service").write_text(text.replace("[Service]\n", "[Service]\nRestarts=on\n"))

    told = {
        name: subprocess.run(
            ["systemd-analyze", "verify", "--man=no", tmp_path / name],
            capture_output=True,
            text=True,
            check=False,
        )
        for name in (file.name, "wrong.service")
    }

    assert (0, "") == (told[file.name].returncode, told[file.name].stderr)
    assert "Unknown key" in told["wrong.service"].stderr


@pytest.mark.parametrize("name", ["compose.yaml", "compose-notes.yaml"])
def test_the_schema_of_compose_accepts_a_file(name: str, tmp_path: Path) -> None:
    if not (programs := os.environ.get("AGENT_PROGRAMS")):
        pytest.skip("AGENT_PROGRAMS names no folder; see integrations/peers.sh")
    file = ROOT / "examples" / "deploy" / name
    wrong = tmp_path / name
    wrong.write_text(file.read_text("utf-8").replace("restart:", "restarts:"), encoding="utf-8")
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{programs}/checkers"}

    codes = [
        subprocess.run([*checker, each], env=environ, capture_output=True, check=False).returncode
        for each in (file, wrong)
    ]

    assert [0, 1] == codes


def test_the_service_of_a_mac_is_started_again_and_for_one_folder() -> None:
    told = plistlib.loads((ROOT / "examples" / "deploy" / "recollect.plist").read_bytes())

    assert told["Label"]
    assert {"KeepAlive", "RunAtLoad"} <= told.keys()
    assert told["ProgramArguments"][0].startswith("/")


def test_the_deployments_run_something() -> None:
    found = [line for file in FILES for line in commands_of(file)]

    assert len(found) > len(FILES) // 2
