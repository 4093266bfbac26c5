"""`doctor --secrets` names the places and kinds of secrets; `doctor` names what others can read."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from tests.support.commands import recollect_command

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "ghp" + "_" + "a1B2" * 9
PASSWORD = "hunter2" + "X9"
NONE = {"provider": "none"}


class Run(Protocol):
    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def doctor(workspace: Path, environ: dict[str, str]) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), "doctor", *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def check_of(done: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    [check] = [each for each in json.loads(done.stdout)["checks"] if each["name"] == name]
    return dict(check)


def test_secrets_in_notes_and_facts_are_named_by_place_and_kind_and_nothing_changes(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], doctor: Run
) -> None:
    front = f"---\ntitle: Router\napi_key: {TOKEN}\n---\n"
    note = write("memory/router.md", f"{front}\n# Router\n\nMy password is {PASSWORD}.\n")
    write("MEMORY.md", "# Memory\n\nThe password is in the keyring.\n")
    with Memory.open(workspace, environ=environ, settings=NONE) as memory:
        memory.facts.remember(f"The token is {TOKEN}", force=True)
    before = {file: file.read_bytes() for file in workspace.rglob("*.md")}
    text, as_json, without = doctor("--secrets"), doctor("--secrets", "--json"), doctor()

    facts = "memory/facts/other.md"
    lines = (workspace / facts).read_text(encoding="utf-8").splitlines()
    place = next(number for number, line in enumerate(lines, 1) if TOKEN in line)
    expected = [
        {"path": "memory/router.md", "line": 3, "kind": "GitHub token"},
        {"path": "memory/router.md", "line": 8, "kind": "password"},
        {"path": facts, "line": place, "kind": "GitHub token"},
    ]
    assert (1, 1, 0) == (text.returncode, as_json.returncode, without.returncode)
    assert expected == json.loads(as_json.stdout)["secrets"]
    assert "memory/router.md:8  password" in text.stdout
    assert not any(each in text.stdout + as_json.stdout for each in (TOKEN, PASSWORD))
    assert before == {file: file.read_bytes() for file in workspace.rglob("*.md")}
    assert note in before


def test_without_secrets_it_says_so(write: Callable[[str, str], Path], doctor: Run) -> None:
    write("MEMORY.md", "# Memory\n\nThe password is in the keyring.\n")
    done = doctor("--secrets", "--json")

    assert (0, []) == (done.returncode, json.loads(done.stdout)["secrets"])
    assert check_of(done, "secrets")["ok"]


def test_what_other_users_can_read_is_named_with_the_command_that_mends_it(
    write: Callable[[str, str], Path], environ: dict[str, str], doctor: Run
) -> None:
    write("MEMORY.md", "# Memory\n\nTea is in the tin.\n")
    sound = doctor("--json")
    home = Path(environ["RECOLLECT_HOME"])
    copy = home / "sessions" / "main" / "a.jsonl"
    copy.parent.mkdir(parents=True)
    copy.write_text("{}\n", encoding="utf-8")
    copy.chmod(0o644)
    exposed = doctor("--json")
    action = check_of(exposed, "privacy")["action"]
    subprocess.run(action.split("`")[1], shell=True, check=True)  # noqa: S602 - our own advice
    mended = doctor("--json")

    assert (0, 1, 0) == (sound.returncode, exposed.returncode, mended.returncode)
    assert str(copy) in check_of(exposed, "privacy")["detail"]
    assert "only you" in check_of(mended, "privacy")["detail"]
