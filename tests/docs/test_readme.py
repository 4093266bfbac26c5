"""The README's every command works as written, and nothing that exists is missing from it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recollect.config.schema import SETTINGS, read_setting
from recollect.shells.cli import COMMANDS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = "\n".join(blocks("bash")).splitlines()
    return [line for line in lines if line.startswith("recollect ")]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, model_folder: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path_factory.mktemp("user")),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "RECOLLECT_HOME": str(tmp_path_factory.mktemp("home")),
        "RECOLLECT_LOCAL_MODEL_CACHE": str(model_folder.parent),
    }


def test_every_recollect_command_of_the_readme_runs_in_order(shell: dict[str, str]) -> None:
    outcomes = {}
    for command in commands():
        done = subprocess.run(
            shlex.split(command), cwd=ROOT, env=shell, capture_output=True, text=True, check=False
        )
        outcomes[command] = (done.returncode, "No matches." in done.stdout)

    assert len(outcomes) >= 10
    assert {} == {command: end for command, end in outcomes.items() if end != (0, False)}


def test_the_python_sample_runs(shell: dict[str, str]) -> None:
    for sample in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", sample],
            cwd=ROOT,
            env=shell,
            capture_output=True,
            text=True,
            check=False,
        )

        assert 0 == done.returncode, done.stderr
        assert "memory/" in done.stdout


def test_the_settings_sample_is_valid() -> None:
    for sample in blocks("toml"):
        for key, value in tomllib.loads(sample).items():
            pairs = value.items() if isinstance(value, dict) else [(None, value)]
            for inner, setting in pairs:
                read_setting(f"{key}.{inner}" if inner else key, setting, origin="README")


def test_every_command_is_in_the_readme() -> None:
    assert [] == [name for name in COMMANDS if f"`recollect {name}" not in README]


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z]+)", README)) - {"sure"}

    assert {"demo", "test", "install"} <= named
    assert all(re.search(rf"^{name}:", makefile, flags=re.MULTILINE) for name in named)


def test_every_setting_is_documented_as_the_code_has_it() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], cwd=ROOT, check=False
    )

    assert 0 == done.returncode, "run: python docs/generate.py"
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert [] == [key for key in SETTINGS if f"`{key}`" not in page]


def test_shell_completion_knows_the_commands(shell: dict[str, str]) -> None:
    done = subprocess.run(
        ["recollect"],
        env={
            **shell,
            "_RECOLLECT_COMPLETE": "bash_complete",
            "COMP_WORDS": "recollect sea",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert "plain,search" == done.stdout.strip()


def test_links_of_the_documentation_lead_somewhere() -> None:
    missing = [
        (page.name, target)
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert [] == missing
