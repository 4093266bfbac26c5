"""No secret is sent to a server: not in notes, questions, prompts or batches."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, write_notes
from tests.vendors.batches import OpenAiDesk
from tests.vendors.chat import KEY as CHAT_KEY
from tests.vendors.chat import KNOWN_CHATS, chat_server
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer

import recollect
from recollect import Memory
from recollect.ingest import fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vendors.chat import KnownChat

TOKEN = "ghp" + "_" + "a1B2" * 9
PASSWORD = "hunter2" + "X9"
NOTE = f"# Router\n\nThe router token is {TOKEN}.\n\nMy password is {PASSWORD}.\n"
QUESTION = f"what opens with password={PASSWORD}"


def received(server: VendorServer) -> str:
    return "\n".join(request.raw.decode("utf-8", "replace") for request in server.requests)


@pytest.fixture(params=["true", "false"], ids=["redacting", "not redacting"])
def redacts(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_notes_and_questions_are_embedded_without_their_secrets(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], redacts: str
) -> None:
    write("memory/router.md", NOTE)
    with VendorServer(OpenAiFormat(), key=KEY) as server:
        given = {
            **environ,
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_REDACT": redacts,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        with Memory.open(workspace, environ=given) as memory:
            memory.sync()
            [hit] = memory.search(QUESTION).hits

    is_sent = redacts == "false"
    assert "The router token is" in received(server)
    assert [is_sent, is_sent] == [secret in received(server) for secret in (TOKEN, PASSWORD)]
    assert TOKEN in hit.text  # the notes themselves are yours


def test_batches_are_uploaded_without_secrets(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fill, "_wait", lambda _seconds: True)
    write_notes(workspace, 550)
    write("memory/router.md", NOTE)
    desk = OpenAiDesk()
    with VendorServer(OpenAiFormat(), key=KEY, route=desk) as server:
        given = {
            **environ,
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_REMOTE_BATCH": "true",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        with Memory.open(workspace, environ=given) as memory:
            report = memory.sync()

    assert (1, 0) == (len(desk.batches), report.pending)
    assert "The router token is" in received(server)
    assert not any(secret in received(server) for secret in (TOKEN, PASSWORD))


@pytest.mark.parametrize("known", KNOWN_CHATS, ids=lambda known: known.name)
def test_prompts_hold_no_secrets(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    known: KnownChat,
    redacts: str,
) -> None:
    write("TOOLS.md", NOTE)
    with chat_server(known, lambda _: "a token opens it") as server:
        path = "/v1" if known.name in ("openai", "anthropic") else ""
        given = {
            **environ,
            "RECOLLECT_PROVIDER": "none",
            "RECOLLECT_LLM_PROVIDER": known.name,
            "RECOLLECT_LLM_BASE_URL": f"{server.url}{path}",
            "RECOLLECT_LLM_API_KEY": "env:CHAT_KEY",
            "RECOLLECT_REDACT": redacts,
            "RECOLLECT_EXPAND_ENABLED": "true",
            "CHAT_KEY": CHAT_KEY,
        }
        with Memory.open(workspace, environ=given) as memory:
            memory.extractor.run()
            memory.search(QUESTION)

    is_sent = redacts == "false"
    assert all(said in received(server) for said in ("The router token is", "what opens with"))
    assert [is_sent, is_sent] == [secret in received(server) for secret in (TOKEN, PASSWORD)]


def test_every_vendor_sends_through_the_same_place() -> None:
    """Only the module that redacts makes requests."""
    root = Path(recollect.__file__).parent
    makers = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "") or getattr(
                getattr(node, "func", None), "attr", ""
            )
            if isinstance(node, ast.Call) and name in (
                "exchange",
                "urlopen",
                "Client",
                "AsyncClient",
            ):
                makers.add(file.relative_to(root).as_posix())

    assert {
        "providers/remote/server.py",
        "providers/remote/connection.py",
        "hosting/push.py",  # hides secrets itself: tests/postgres/test_push.py
    } >= makers
