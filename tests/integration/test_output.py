"""Whatever a note, a heading, a file name or a fact contains, no terminal obeys it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from tests.http.servers import commands as commands_served
from tests.mcp.serving import talk, text_of
from tests.support.commands import recollect_command
from tests.support.hostile_text import FOR_TERMINALS, HOSTILE, MARKUP, OBEYED, UNBROKEN

from recollect.shells.cli import cli
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.mcp.tools import tools_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp import Client

    Run = Callable[..., subprocess.CompletedProcess[str]]

NAME = "memory/2026-01-02 \x1b]0;owned\x07\u202e\x9b31m\rx.md"
STYLES = re.compile("\x1b\\[[0-9;]*m|\r?\x1b\\[2K|\r?\x1b\\[1A|\x1b\\[\\?25[lh]")
"""Colours, and what redraws a progress bar: the only escape sequences that we print."""


BAD = "\x1b]0;owned\x07\u202e\x9b31m\r"
"""For arguments, names and settings: one line, no NUL."""
FACT = "f-0000000000001"


@pytest.fixture
def hostile(workspace: Path, environ: dict[str, str]) -> Path:
    """A workspace in which every text tries to be obeyed."""
    files = {
        NAME: f"# Boats {HOSTILE}\n\nThe boat is green. {HOSTILE}\n",
        "memory/boat.md": f"# Boats {HOSTILE}\n\nThe other boat is red. {HOSTILE}\n",
        "memory/facts/other.md": (
            f"- The boat {BAD} is green. <!-- id={FACT} entity={BAD} tags={BAD} -->\n"
            f"- The boat is {FOR_TERMINALS} blue.\n"
        ),
        ".recollectignore": f"[b-a]{BAD}\n",
        "memory-cases.jsonl": json.dumps(
            {"query": f"boat {HOSTILE}", "expected": [f"memory/{BAD}.md"]}
        ),
        "openclaw.json": json.dumps(
            {"agents": {"defaults": {"memorySearch": {"provider": BAD, f"x{BAD}": BAD}}}}
        ),
    }
    for path, text in files.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text, encoding="utf-8")
    said = {
        "type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-02-01T09:00:00Z",
        "cwd": str(workspace), "message": {"role": "user", "content": f"The boat? {HOSTILE}"},
    }  # fmt: skip
    titled = {"type": "custom-title", "customTitle": f"Boats {HOSTILE}", "sessionId": "s"}
    transcript = Path(environ["HOME"], ".claude", "projects", "x", "s.jsonl")
    transcript.parent.mkdir(parents=True)
    transcript.write_text(f"{json.dumps(said)}\n{json.dumps(titled)}\n", encoding="utf-8")
    return workspace


@pytest.fixture
def run(hostile: Path, environ: dict[str, str]) -> Run:
    def run_command(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=hostile,
            env={**environ, "RECOLLECT_PROVIDER": "none", **more},
            input="{}",
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return run_command


COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "config import-openclaw": (("openclaw.json",), ("openclaw.json", "--write"), (BAD,)),
    "config path": ((), ("-w", BAD)),
    "config set": (("extra_paths", BAD), (BAD, BAD), ("provider", BAD)),
    "config show": (("--all",), (BAD,)),
    "doctor": ((), ("--verify",)),
    "eval": ((), (BAD,)),
    "facts": ((),),
    "facts export": ((),),
    "facts forget": ((BAD,),),
    "facts list": ((), ("--category", BAD), ("--scope", BAD), ("--as-of", BAD)),
    "facts show": ((FACT,), (BAD,)),
    "facts supersede": ((FACT, BAD), (FACT, "--undo")),
    "get": ((NAME,), ("memory/boat.md",), (BAD,), (f"memory/{BAD}.md:{BAD}",), ("a", BAD)),
    "hook": (("prompt",), ("session-start",), (BAD,), ("--budget", BAD)),
    "index": (("--force",), (BAD,)),
    "facts ingest": (("--dry-run", "--paths", BAD),),
    "install": (("claude", "--print"), (BAD,)),
    "recall": (("boat",), (BAD,), ("boat", "--form", BAD)),
    "remember": ((f"The boat {FOR_TERMINALS.replace(chr(0), '')} is old.",), ("x", "--scope", BAD)),
    "reset": ((), (BAD, "--yes")),
    "search": (("boat", "--explain"), (BAD,), ("boat", "--path", BAD), ("boat", "--since", BAD)),
    "sessions forget": ((BAD, "--yes"),),
    "sessions import": ((BAD,), ("openclaw.json",)),
    "sessions list": ((),),
    "server push": ((".", BAD),),
    "server worker": (("--once",),),
    "status": (("--deep",), ("--all",)),
    "tidy": ((), (BAD,)),
    "server init": ((BAD,),),
    "server index": ((), (BAD,)),
    "server purge": (("memory", BAD),),
    "server status": ((), (BAD,)),
    "server tokens create": ((BAD,),),
    "server tokens list": ((), (BAD,)),
    "server tokens revoke": ((BAD,),),
}
"""Arguments with which each command is tried; what a user or an agent pastes may be hostile."""
SERVERS = {"mcp", "serve"}
"""Commands that do not end; the servers are asked below."""


def commands(command: click.Command = cli, name: str = "") -> set[str]:
    if not isinstance(command, click.Group):
        return {name}
    context = click.Context(command)
    found = {name} if command.invoke_without_command and name else set()
    for each in command.list_commands(context):
        inner = command.get_command(context, each)
        assert inner is not None
        found |= commands(inner, f"{name} {each}".strip())
    return found


def test_every_command_is_tried() -> None:
    assert commands() - SERVERS == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(run: Run, name: str) -> None:
    run("index")
    for arguments in COMMANDS[name]:
        done = run(*name.split(), *arguments)

        assert [] == OBEYED.findall(done.stdout + done.stderr), arguments
        assert "Traceback" not in done.stderr, arguments
        assert done.returncode in {0, 1, 2}


@pytest.mark.parametrize(
    "name", ["search", "get", "facts list", "sessions list", "status", "config show"]
)
def test_json_is_faithful_and_shows_nothing_hidden(run: Run, hostile: Path, name: str) -> None:
    done = run("--json", *name.split(), *COMMANDS[name][0])

    assert [] == OBEYED.findall(done.stdout)
    shape = json.loads(done.stdout)
    if name == "get":
        text = (hostile / NAME).read_bytes().decode().replace("\r", "\n")
        assert text.startswith(shape["text"])


def on_a_terminal(hostile: Path, environ: dict[str, str], *arguments: str) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [*recollect_command(), *arguments],
        cwd=hostile,
        env={**environ, "RECOLLECT_PROVIDER": "none", "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = bytearray()
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux: the other side is closed
        pass
    os.close(ours)
    started.wait(timeout=120)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "boat"),
        ("search", "-v", "boat"),
        ("get", NAME),
        ("get", "memory/boat.md"),
        ("recall", "boat"),
        ("status",),
    ],
)
def test_a_terminal_is_only_ever_told_colours(
    hostile: Path, environ: dict[str, str], arguments: tuple[str, ...]
) -> None:
    shown = on_a_terminal(hostile, environ, *arguments)

    assert shown
    assert [] == OBEYED.findall(STYLES.sub("", shown))


def test_colours_are_shown_and_markup_is_not_obeyed(hostile: Path, environ: dict[str, str]) -> None:
    shown = on_a_terminal(hostile, environ, "search", "boat", "-v")

    assert STYLES.search(shown)
    assert MARKUP in STYLES.sub("", shown)
    assert "␛]0;owned␇" in shown


CALLS: dict[str, tuple[dict[str, object], ...]] = {
    "memory_search": ({"query": "boat"}, {"query": BAD, "path": BAD}, {"query": "boat", "x": BAD}),
    "memory_get": ({"path": NAME}, {"path": "memory/boat.md"}, {"path": HOSTILE}),
    "memory_remember": ({"text": f"The boat {HOSTILE} is old."}, {"text": "x", "scope": HOSTILE}),
    "memory_feedback": ({"query": BAD, "citation": "memory/boat.md", "right": True},),
    "memory_forget": ({"id": HOSTILE},),
    "memory_status": ({}, {HOSTILE: HOSTILE}),
    "search": ({"query": "boat"}, {"query": HOSTILE}),
    "fetch": ({"id": NAME}, {"id": HOSTILE}),
}
"""Arguments with which each tool is called."""


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings_in(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from strings_in(each)


def test_no_tool_returns_what_a_model_or_a_terminal_obeys(
    hostile: Path, environ: dict[str, str]
) -> None:
    assert {tool.name for tool in tools_for(read_only=False)} == set(CALLS)

    async def conversation(client: Client) -> None:
        said: list[object] = []
        for tool, given in CALLS.items():
            for arguments in given:
                result = await client.call_tool(tool, arguments)
                said += [result.structured_content, text_of(result)]

        for text in strings_in(said):
            assert [] == OBEYED.findall(text), text
            assert [] == UNBROKEN.findall(text), text
        assert any("The boat is green." in text for text in strings_in(said))

    talk(hostile, {**environ, "RECOLLECT_PROVIDER": "none"}, conversation)


PAGES: dict[str, tuple[dict[str, str], ...]] = {
    "/": ({},),
    "/health": ({},),
    "/metrics": ({},),
    "/openapi.json": ({},),
    "/static/{name}": ({"name": "main.js"},),
    "/api/search": ({"q": "boat"}, {"q": BAD, "path": BAD}, {"q": "boat", BAD: BAD}),
    "/api/file": ({"path": NAME}, {"path": HOSTILE}),
    "/api/status": ({},),
    "/api/recall": ({"prompt": "boat"}, {"prompt": BAD, "form": BAD}),
    "/api/facts": ({}, {"category": BAD}),
    "/api/facts/{id}": ({"id": FACT}, {"id": "f-0"}),
    "/api/documents": ({}, {"path": BAD}),
    "/api/timeline": ({},),
    "/api/map": ({},),
    "/api/tidy": ({},),
    "/api/picture": ({"path": f"{BAD}.png"}, {"path": "a.png", "note": HOSTILE}),
    "/api/related": ({"path": NAME}, {"path": HOSTILE}),
}
"""Parameters with which each address is asked."""


def test_no_answer_over_http_has_what_a_terminal_obeys(
    hostile: Path, environ: dict[str, str], run: Run
) -> None:
    assert {each.path for each in OPERATIONS if each.method == "GET"} == set(PAGES)
    run("index")
    with commands_served() as start:
        server = start(hostile, {**environ, "RECOLLECT_PROVIDER": "none"}, "--port", "0")
        for path, asked in PAGES.items():
            for given in asked:
                rest = {name: each for name, each in given.items() if f"{{{name}}}" not in path}
                answer = server.get(path.format_map(given), params=rest)

                assert answer.status_code in {200, 400, 404, 503}, (path, answer.text)
                assert [] == OBEYED.findall(answer.text), path
        server.child.terminate()
        server.end()
        assert [] == OBEYED.findall(server.output)
