"""Who may do what: every tool, with a scope, a token and the right to write.

Another user's facts must not show in any answer, not even as a count, a size or a date: every
answer is the same whether they have facts or not.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.mcp.serving import served
from tests.support.waiting import PATIENCE_SECONDS

from recollect import AsyncMemory, Memory
from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.server import McpOptions
from recollect.shells.mcp.tools import TOOLS
from recollect.shells.serving import ServedMemory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ADA, BOB = "user:ada", "user:bob"
LEDGER, BOBS_FILE = "memory/facts/fact.md", "memory/facts/preference.md"
BOBS_WORDS = ("zanzibar", "vault", "opal", "2031-05", "bobkey", "user:bob")
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of this test alone
# `{ada}` and `{bob}` stand for the ids of facts. What writes comes last.
CALLS: dict[str, tuple[dict[str, object], ...]] = {
    "memory_search": (
        {"query": "boat harbour", "minScore": 0},
        {"query": "zanzibar", "minScore": 0},
        {"query": "boat", "source": "facts", "includeSuperseded": True, "minScore": 0},
        {"query": "boat", "asOf": "2031-06-01", "minScore": 0},
        {"query": "boat", "scope": [BOB]},
    ),
    "memory_get": ({"path": LEDGER}, {"path": BOBS_FILE}, {"path": "memory/notes.md"}),
    "memory_status": ({},),
    "search": ({"query": "boat harbour"}, {"query": "zanzibar"}),
    "fetch": ({"id": LEDGER}, {"id": BOBS_FILE}),
    "memory_remember": (
        {"text": "The boat sails.", "scope": BOB},
        {"text": "The boat sails.", "supersedes": ["{bob}"]},
        {"text": "The boat is red."},
    ),
    "memory_feedback": (
        {"query": "boat", "citation": "memory/notes.md#L3", "right": False},
        {"query": "boat", "citation": BOBS_FILE, "right": True},
    ),
    "memory_forget": ({"id": "{bob}"}, {"id": "{ada}"}),
}
REFUSED = {("memory_search", 4), ("memory_get", 1), ("fetch", 1), ("memory_remember", 0)} | {
    ("memory_remember", 1),
    ("memory_feedback", 1),
    ("memory_forget", 0),
}
"""The calls of a server for ada that must fail, by their tool and their number."""


@pytest.fixture
def ids(workspace: Path, plain: Mapping[str, str]) -> dict[str, str]:
    """A note, a fact for all and one of ada's."""
    (workspace / "memory" / "notes.md").write_text("# Boats\n\nOne boat is in the harbour.\n")
    with Memory.open(workspace, environ=plain) as memory:
        memory.facts.remember("The harbour opens at nine.", category="fact")
        own = memory.facts.remember("Ada's boat is green.", category="fact", scope=ADA)
        memory.sync()
    return {"ada": own.fact.id, "bob": "f-0000000000000"}


def add_bob(workspace: Path, plain: Mapping[str, str]) -> str:
    later = datetime(2031, 5, 5, tzinfo=UTC)
    with Memory.open(workspace, environ=plain) as memory:
        said = memory.facts.remember(
            "The zanzibar boat is in the vault.",
            category="fact",
            entity="opal",
            key="bobkey",
            value="zanzibar",
            scope=BOB,
        )
        memory.facts.remember("Opal.", category="fact", scope=BOB, valid_from=later)
        memory.facts.remember("No boat in the vault.", category="preference", scope=BOB)
        memory.sync()
    return said.fact.id


def answers(
    workspace: Path, plain: Mapping[str, str], ids: Mapping[str, str]
) -> dict[tuple[str, int], Any]:
    """Make every call to a server for ada; return what it says, and whether that is an error."""
    facts = workspace / "memory" / "facts"

    async def run() -> dict[tuple[str, int], Any]:
        memory = ServedMemory(
            lambda: AsyncMemory.open(workspace, environ=plain, scopes=frozenset({ADA}))
        )
        await memory.open()
        await memory.wait_for_first_sync()
        calls, tools = Calls(memory, scopes=frozenset({ADA})), {each.name: each for each in TOOLS}
        said: dict[tuple[str, int], Any] = {}
        for name, requests in CALLS.items():
            for number, given in enumerate(requests):
                result = await calls.call(tools[name], json.loads(_filled(given, ids)))
                text = f"{result.text}\n{json.dumps(result.structured)}"
                said[name, number] = (text, result.is_error)
        await memory.close(seconds=PATIENCE_SECONDS)
        return said

    shutil.copytree(facts, workspace / "kept")
    try:
        return asyncio.run(run())
    finally:
        shutil.rmtree(facts)
        (workspace / "kept").rename(facts)


def _filled(given: Mapping[str, object], ids: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda named: ids[named[1]], json.dumps(given))


def comparable(said: str, ids: Mapping[str, str]) -> str:
    """Return an answer without times, the ids of facts, and whether a sync runs at that moment."""
    for known in ids.values():
        said = said.replace(known, "<id>")
    said = re.sub(r"f-[0-9a-z]{13}", "<id>", said)
    said = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.+Z-]+", "<time>", said)
    said = re.sub(r'"atWork": (?:null|"[^"]*")', '"atWork": null', said)
    return re.sub(r'"tookMs": [-0-9.e]+', '"tookMs": 0', said)


def test_every_tool_is_in_the_matrix() -> None:
    assert {tool.name for tool in TOOLS} == set(CALLS)


def test_every_answer_to_ada_is_the_same_whether_bob_has_facts_or_not(
    workspace: Path, plain: Mapping[str, str], ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def greeting() -> str:
        return McpOptions(workspace, scopes=frozenset({ADA})).instructions()

    monkeypatch.setenv("RECOLLECT_HOME", plain["RECOLLECT_HOME"])
    alone, greeted_alone = answers(workspace, plain, ids), greeting()
    ids["bob"] = add_bob(workspace, plain)
    beside, greeted_beside = answers(workspace, plain, ids), greeting()
    differing = {
        call: (comparable(alone[call][0], ids), comparable(beside[call][0], ids))
        for call in alone
        if comparable(alone[call][0], ids) != comparable(beside[call][0], ids)
    }
    told = {
        (call, word)
        for call, (text, _) in beside.items()
        for word in BOBS_WORDS
        if word in text.lower() and word not in json.dumps(CALLS.get(call[0], ())).lower()
    }

    assert {} == differing
    assert set() == told
    assert greeted_alone == greeted_beside
    assert {call for call, (_, is_error) in beside.items() if is_error} == REFUSED


def test_every_tool_asks_for_the_token_and_the_right_to_write(
    workspace: Path, plain: Mapping[str, str], ids: dict[str, str]
) -> None:
    wrong: list[str] = []
    environ = {**plain, "RECOLLECT_TOKEN": TOKEN}
    with served(workspace, environ, "--read-only") as (_, address):
        for tool in TOOLS:
            given = json.loads(_filled(CALLS[tool.name][0], ids))
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool.name, "arguments": given},
            }
            for token, status in ((None, 401), ("wrong", 401), (TOKEN, 200)):
                headers = {"Accept": "application/json, text/event-stream"}
                if token:
                    headers["Authorization"] = f"Bearer {token}"
                answer = httpx2.post(address, json=body, headers=headers, timeout=PATIENCE_SECONDS)
                is_unknown = "Unknown tool" in answer.text
                if answer.status_code != status or is_unknown != (tool.writes and status == 200):
                    wrong.append(f"{tool.name} with {token}: {answer.status_code} {answer.text}")

    assert [] == wrong
