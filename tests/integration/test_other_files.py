"""Files that are not Markdown: plain text by a setting, others through a command of the user."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from recollect import Memory
from recollect.errors import ConfigError
from recollect.ingest import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


def command(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


UPPER = command("import sys; print(sys.argv[1][-5:], sys.stdin.read().upper())")


def opened(workspace: Path, environ: dict[str, str], **settings: object) -> Memory:
    return Memory.open(workspace, settings={"provider": "none", **settings}, environ=environ)


def test_plain_text_is_indexed_if_its_ending_is_named(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.md", "A boat.\n")
    write("memory/b.TXT", "A boat.\n")
    write("memory/c.org", "* Boats\n")
    with opened(workspace, environ) as memory:
        before = memory.paths()
    with opened(workspace, environ, text_files=".txt,.org") as memory:
        memory.sync()
        after = memory.paths()
        text = memory.get("memory/c.org").text

    assert frozenset() == before
    assert {"memory/a.md", "memory/b.TXT", "memory/c.org"} == after
    assert "* Boats" == text


def test_a_command_turns_other_files_into_text(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.pdf", "a boat\n")
    settings = {"preprocess.command": UPPER, "preprocess.files": ".pdf"}
    with opened(workspace, environ, **settings) as memory:
        (hit,) = memory.search("boat").hits
        text = memory.get("memory/a.pdf").text

    assert "a.pdf A BOAT" == hit.text == text.strip()


def test_another_command_reads_the_files_again(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/a.pdf", "a boat\n")
    with opened(
        workspace, environ, **{"preprocess.command": UPPER, "preprocess.files": ".pdf"}
    ) as memory:
        memory.sync()
    other = command("print('a sail')")
    with opened(
        workspace, environ, **{"preprocess.command": other, "preprocess.files": ".pdf"}
    ) as memory:
        (hit,) = memory.search("sail").hits

    assert "a sail" == hit.text


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (command("import sys; sys.exit('the page is torn')"), "the page is torn"),
        ("/no/such/program", "No such file or directory"),
        ("pdftotext '", "No closing quotation"),
        (command("import time; time.sleep(60)"), "was not turned into text within 0.2 seconds"),
    ],
)
def test_a_command_that_fails_is_reported_for_its_file_and_others_are_indexed(  # noqa: PLR0917 - pytest passes names
    workspace: Path,
    environ: dict[str, str],
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    reason: str,
) -> None:
    monkeypatch.setattr(read, "COMMAND_SECONDS", 0.2)
    write("memory/a.pdf", "a boat\n")
    write("memory/b.md", "A sail.\n")
    settings = {"preprocess.command": program, "preprocess.files": ".pdf"}
    with opened(workspace, environ, **settings) as memory:
        report = memory.sync()

    assert (1, ["memory/a.pdf"]) == (report.added, [each.path for each in report.failed])
    assert reason in report.failed[0].reason


def test_a_workspace_cannot_name_a_command(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("recollect.toml", '[preprocess]\ncommand = "touch owned"\nfiles = [".md"]\n')

    with pytest.raises(ConfigError, match="preprocess"):
        opened(workspace, environ)
