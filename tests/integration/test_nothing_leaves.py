"""No text leaves the machine unless your own settings name who gets it; a key names nobody.

A stand-in server is every vendor's address, and the proxy to all others. It records whatever comes.
Which modules can open a connection at all is tested in test_secrets_stay_here.py.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.http.servers import commands
from tests.integration.remote import KEY, command, notes_of, write_notes
from tests.mcp.serving import answer, synced, talk
from tests.support.file_server import QuietHandler, answering
from tests.support.waiting import PATIENCE_SECONDS, wait_for_descendants, wait_until
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp import Client

    Environ = dict[str, str]

NOTES = 5
VENDORS = ("OPENAI", "GEMINI", "GOOGLE", "VOYAGE", "MISTRAL", "ANTHROPIC")


@contextmanager
def recorder() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server that answers nothing useful, and the requests it got."""
    got: list[str] = []

    class Recording(QuietHandler):
        def _record(self) -> None:
            got.append(self.requestline)
            self.send_error(500)

        do_GET = do_POST = do_PUT = do_CONNECT = _record  # noqa: N815 - names of http.server

    with answering(Recording) as port:
        yield f"http://127.0.0.1:{port}", got


def with_keys(environ: Environ, url: str) -> Environ:
    """Return the environment of someone who uses every vendor for other things."""
    return {
        **environ,
        **{f"{vendor}_API_KEY": KEY for vendor in VENDORS},
        "OPENAI_BASE_URL": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": url,
        "ANTHROPIC_BASE_URL": url,
        "OLLAMA_HOST": url,
        "HTTPS_PROXY": url,
    }


def run(*arguments: str) -> Callable[[Path, Environ], None]:
    return lambda workspace, environ: _run(workspace, environ, arguments)


def _run(workspace: Path, environ: Environ, arguments: tuple[str, ...]) -> None:
    command(workspace, environ, *arguments)
    wait_for_descendants(environ)


def remember(workspace: Path, environ: Environ) -> None:
    for text in ("The NAS is at nas.local port 5001.", "The NAS is at nas.local on port 5001."):
        assert 0 == command(workspace, environ, "remember", text).returncode


def serve(workspace: Path, environ: Environ) -> None:
    with commands() as start:
        server = start(workspace, environ, "--port", "0")
        wait_until(lambda: server.get("/api/status").json()["worker"]["state"] != "syncing")


def mcp(workspace: Path, environ: Environ) -> None:
    async def conversation(client: Client) -> None:
        await synced(client)
        await answer(client, "memory_search", query="harbour violin")

    talk(workspace, environ, conversation)


WAYS = {
    "notes, embedded": run("index"),
    "notes, embedded again": run("index", "--force"),
    "a question": run("search", "harbour violin"),
    "a prompt": run("recall", "harbour violin"),
    "facts that are alike": remember,
    "candidates, reread": run("search", "harbour violin", "--rerank"),
    "files, for facts": run("ingest", "--paths", "memory/*.md"),
    "documents, pushed": run("server", "push"),
    "questions of an evaluation": run("eval", "cases.jsonl"),
    "a test of the provider": run("status", "--deep"),
    "a check of everything": run("doctor"),
    "by a server that nobody asks": serve,
    "by the server of an agent": mcp,
}
"""Every way in which a text could leave the process."""
UNNAMED = {
    "a key alone": {},
    "with what only a server can do": {
        "RECOLLECT_HYDE_ENABLED": "true",
        "RECOLLECT_EXPAND_ENABLED": "true",
        "RECOLLECT_REMOTE_BATCH": "true",
    },
}
"""Settings that do not say who gets a text."""


@pytest.fixture
def tampered(tmp_path: Path, model_folder: Path) -> Path:
    """A folder with the local model, one of whose files differs."""
    folder = Path(shutil.copytree(model_folder, tmp_path / "models"))
    (folder / "vocab.txt").write_text("changed\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_key_sends_no_text_when_the_local_model_fails(
    workspace: Path, environ: Environ, tampered: Path, way: Callable[[Path, Environ], None]
) -> None:
    write_notes(workspace, NOTES)
    with recorder() as (url, got):
        given = with_keys(environ, url)
        way(workspace, given | {"RECOLLECT_LOCAL_MODEL_PATH": "/nowhere"})  # a new index
        given |= {"RECOLLECT_LOCAL_MODEL_PATH": str(tampered)}
        command(workspace, given, "reset", "--yes")
        way(workspace, given)
        for index in Path(environ["RECOLLECT_HOME"]).rglob("index.sqlite"):
            index.write_bytes(b"damaged" * 1000)
        way(workspace, given)  # rebuilt

    assert [] == got


@pytest.mark.parametrize("settings", UNNAMED.values(), ids=UNNAMED.keys())
def test_no_setting_but_a_name_sends_a_text(
    workspace: Path, environ: Environ, settings: Environ
) -> None:
    write_notes(workspace, NOTES)
    with recorder() as (url, got):
        given = with_keys(environ, url) | settings
        for arguments in (["index"], ["search", "harbour"], ["ingest"], ["status", "--deep"]):
            command(workspace, given, *arguments)

    assert [] == got


def test_a_server_that_is_no_longer_named_gets_no_more_questions(
    workspace: Path, environ: Environ
) -> None:
    write_notes(workspace, NOTES)
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        given = with_keys(environ, server.url)
        named = command(workspace, given | {"RECOLLECT_PROVIDER": "openai"}, "index")
        asked = len(server.requests)
        found = command(workspace, given, "search", "harbour", "--json")
        wait_for_descendants(environ)
        again = command(workspace, given, "search", "harbour", "--json")

    assert "goes to openai" not in named.stderr
    assert f"{NOTES} passages of this memory go to openai ({server.url}/v1)" in named.stderr
    assert (NOTES, asked) == (len(notes_of(server)), len(server.requests))
    assert '"provider": "openai"' not in found.stdout
    assert '"provider": "local"' in again.stdout


@contextmanager
def terminal(workspace: Path, environ: Environ, *arguments: str) -> Iterator[int]:
    """Run a command on a terminal of its own; yield the other end. It is stopped after the block.

    One that ends by itself has done so once nothing more is shown.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "-w", str(workspace), *arguments],
        env={**environ, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield ours
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        os.close(ours)


def shown(ours: int, until: str | None = None) -> str:
    """Return what is printed until a text appears, or to the end."""
    found = b""
    with suppress(OSError):  # the end of a terminal
        while (until is None or until.encode() not in found) and (part := os.read(ours, 4096)):
            found += part
    return found.decode()


def test_a_terminal_is_asked_before_the_first_notes_of_a_memory_are_sent(
    workspace: Path, environ: Environ
) -> None:
    write_notes(workspace, NOTES)
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        given = with_keys(environ, server.url)
        command(workspace, given, "config", "set", "--user-file", "provider", "openai")
        with terminal(workspace, given, "search", "harbour") as ours:
            question = shown(ours, until="[y/N]: ")
            os.write(ours, b"\n")
            refused = shown(ours)
        not_sent = [*server.requests]
        with terminal(workspace, given, "index", "--watch") as ours:
            watching = shown(ours, until="Watching")
            told = shown(ours, until="no permission")
        still_not_sent = [*server.requests]
        with terminal(workspace, given, "index") as ours:
            shown(ours, until="[y/N]: ")
            os.write(ours, b"y\n")
            shown(ours)
        sent = len(notes_of(server))
        with terminal(workspace, given, "search", "harbour") as ours:
            later = shown(ours)

    assert f"{NOTES} passages of this memory go to openai ({server.url}/v1)" in question
    assert "Nothing was sent to openai" in refused
    assert "memory/note-" in refused  # by keyword
    assert "Watching" in watching + told
    assert ([], []) == (not_sent, still_not_sent)
    assert NOTES == sent
    assert "[y/N]" not in later


def test_a_script_that_names_the_provider_gets_a_notice_instead_of_a_question(
    workspace: Path, environ: Environ
) -> None:
    write_notes(workspace, NOTES)
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        given = with_keys(environ, server.url) | {"RECOLLECT_PROVIDER": "openai"}
        with terminal(workspace, given, "index") as ours:
            printed = shown(ours)

    assert f"go to openai ({server.url}/v1)" in printed
    assert "[y/N]" not in printed
    assert NOTES == len(notes_of(server))
