"""The examples run as their first lines say."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MOST_LINES = 80


@pytest.fixture
def checkout(tmp_path: Path, environ: dict[str, str], fill_home: Callable[[Path], None]) -> Path:
    """The examples, as a copy that they may change, and a home that knows their vectors."""
    fill_home(Path(environ["RECOLLECT_HOME"]))
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "checkout" / "examples")).parent


def run(*command: str, folder: Path, environ: dict[str, str]) -> str:
    """Return what an example prints; a warning of Python is a failure."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_what_is_remembered_stands_in_front_of_the_message(
    checkout: Path, environ: dict[str, str]
) -> None:
    question = "how do we keep backups safe?"

    printed = run("examples/agent_turn.py", question, folder=checkout, environ=environ)

    system, user = json.loads(printed)
    assert ["system", "user"] == [system["role"], user["role"]]
    assert user["content"].startswith("<recollect-memory")
    assert "memory/protocols/backups-and-restore.md" in user["content"]
    assert user["content"].endswith(question)


def test_what_is_not_in_memory_leaves_the_message_alone(
    checkout: Path, environ: dict[str, str]
) -> None:
    question = "what is the name of the captain of the spaceship?"

    printed = run("examples/agent_turn.py", question, folder=checkout, environ=environ)

    assert question == json.loads(printed)[1]["content"]


@pytest.mark.parametrize("example", ["agent_turn.py", "langchain_rag.py", "llama_index_rag.py"])
def test_an_example_without_a_question_says_how_it_is_called(
    example: str, checkout: Path, environ: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, f"examples/{example}"],
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (2, "") == (done.returncode, done.stdout)
    assert f'usage: python examples/{example} "QUESTION"\n' == done.stderr


@pytest.fixture
def server(checkout: Path, environ: dict[str, str]) -> Iterator[int]:
    """The asynchronous server on a free port."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "examples/async_server.py", "0"],
        cwd=checkout,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        yield int(ready.split()[-1])
        process.terminate()


def test_the_server_answers_several_clients(server: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", server)) as first,
        socket.create_connection(("127.0.0.1", server)) as second,
    ):
        first.sendall(b"how do we keep backups safe?\n")
        second.sendall(b"TCK-82152\n \n")
        with first.makefile() as read_first, second.makefile() as read_second:
            backups = json.loads(read_first.readline())
            ticket, empty = json.loads(read_second.readline()), json.loads(read_second.readline())

    assert backups["hits"][0]["citation"].startswith("memory/protocols/backups-and-restore.md")
    assert ticket["hits"][0]["citation"].startswith("memory/2024-12-11.md")
    assert ([], True) == (backups["degraded"], backups["confident"])
    assert {"error", "action"} == empty.keys()
