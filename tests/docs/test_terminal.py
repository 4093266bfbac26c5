"""The terminal that samples run in: what it must notice, or no sample would ever fail."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.docs.pages import blocks
from tests.docs.samples import matches, run_console
from tests.docs.terminal import SampleError, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    environ = {"PATH": os.environ["PATH"]}
    with Terminal(tmp_path, environ=environ, trouble=tmp_path / "trouble") as opened:
        yield opened


def test_a_sample_sees_what_the_one_before_it_did(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("mkdir deep; cd deep; export NAME=ada")

    assert f"{tmp_path}/deep ada\n" == terminal.run("echo $PWD $NAME")


def test_a_sample_that_fails_is_told_with_its_messages(terminal: Terminal) -> None:
    with pytest.raises(SampleError, match="half\nno such thing"):
        terminal.run("echo half; echo no such thing >&2; false; echo more")


def test_a_failure_inside_a_pipe_is_noticed(terminal: Terminal) -> None:
    with pytest.raises(SampleError):
        terminal.run("false | cat")


def test_a_sample_cannot_read_what_is_typed_after_it(terminal: Terminal) -> None:
    assert "" == terminal.run("cat")
    assert "next\n" == terminal.run("echo next")


def test_messages_are_shown_where_they_are_wanted(terminal: Terminal) -> None:
    assert "" == terminal.run("echo aside >&2")
    assert "aside\n" == terminal.run("echo aside >&2", with_messages=True)


@pytest.mark.parametrize(
    ("told", "printed", "fits"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("…\nc\n", "a\nb\nc\n", True),
        ("…\nx\n…\n", "a\nb\nc\n", False),
        ("0.4… path\n", "0.439 path\n", True),
        ("0.4… path\n", "0.539 path\n", False),
    ],
)
def test_a_console_sample_is_compared_with_what_is_printed(
    told: str, printed: str, *, fits: bool
) -> None:
    assert fits == matches(told, printed=printed)


def page_with(text: str, folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_ids_of_a_console_sample_stand_for_the_same_fact_throughout(
    terminal: Terminal, tmp_path: Path
) -> None:
    real = "f-1111111111111"
    sample = "```console\n$ cat id\nf-0000000000000\n$ echo f-0000000000000\nf-0000000000000\n```\n"
    (tmp_path / "id").write_text(f"{real}\n", encoding="utf-8")
    [block] = blocks(page_with(sample, tmp_path))
    ids: dict[str, str] = {}

    run_console(block, terminal=terminal, ids=ids)

    assert {"f-0000000000000": real} == ids


def test_a_console_sample_that_shows_something_else_fails(
    terminal: Terminal, tmp_path: Path
) -> None:
    [block] = blocks(page_with("```console\n$ echo one\ntwo\n```\n", tmp_path))

    with pytest.raises(AssertionError, match="echo one"):
        run_console(block, terminal=terminal, ids={})


def test_marks_are_read_from_the_line_above(tmp_path: Path) -> None:
    page = page_with(
        "<!-- not run: why -->\n```bash\na\n```\n\n<!-- prints -->\n```text\nb\n```\n", tmp_path
    )

    first, second = blocks(page)

    assert ("why", False) == (first.excuse, first.is_output)
    assert (None, True) == (second.excuse, second.is_output)
