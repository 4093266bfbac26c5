"""Which command an agent is told to start."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from recollect.install.agents import Launch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "bin" / "recollect"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_the_program_that_runs_is_named_by_its_absolute_path(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    launch = Launch.find(
        tmp_path, started_as="bin/recollect", executable="/usr/bin/python3", environ={}
    )

    assert (str(program), ["mcp", "-w", str(tmp_path)]) == launch.server


def test_a_link_to_the_program_is_kept_for_it_outlives_an_upgrade(
    tmp_path: Path, program: Path
) -> None:
    link = tmp_path / "recollect"
    link.symlink_to(program)
    launch = Launch.find(tmp_path, started_as=str(link), executable="/usr/bin/python3", environ={})

    assert str(link) == launch.server[0]


def test_started_as_a_module_it_names_the_program_beside_python(
    tmp_path: Path, program: Path
) -> None:
    launch = Launch.find(
        tmp_path,
        started_as="/lib/recollect/__main__.py",
        executable=str(program.with_name("python3")),
        environ={},
    )

    assert (str(program),) == launch.program


def test_without_a_program_it_names_python_and_the_module(tmp_path: Path) -> None:
    launch = Launch.find(
        tmp_path,
        started_as=str(tmp_path / "recollect"),
        executable=str(tmp_path / "python3"),
        environ={},
    )

    assert (str(tmp_path / "python3"), "-P", "-m", "recollect") == launch.program


def test_whatever_names_the_memory_is_passed_on_and_no_setting_is(tmp_path: Path) -> None:
    launch = Launch.find(
        tmp_path,
        started_as="x",
        executable=sys.executable,
        environ={"RECOLLECT_HOME": "/my home", "RECOLLECT_PROVIDER": "openai", "HOME": "/h"},
        agent="main",
        config_file=tmp_path / "my.toml",
    )

    assert {"RECOLLECT_HOME": "/my home"} == launch.environ
    assert ("--agent", "main", "--config", str(tmp_path / "my.toml")) == launch.options[2:]


def test_a_hook_is_one_line_of_shell_that_survives_blanks(tmp_path: Path) -> None:
    folder = tmp_path / "my notes; rm -rf ~"
    launch = Launch.find(
        folder, started_as="x", executable="/py", environ={"RECOLLECT_HOME": "/my home"}
    )

    assert [
        "RECOLLECT_HOME=/my home",
        *("/py", "-P", "-m", "recollect", "hook", "prompt", "-w", str(folder)),
    ] == shlex.split(launch.hook("prompt"))
