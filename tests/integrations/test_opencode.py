"""The real OpenCode with a model on loopback: what its script adds to a compaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx2
from tests.integrations.agents import ANSWER, QUESTION

if TYPE_CHECKING:
    from tests.integrations.agents import Agents
    from tests.integrations.model import Model

MODEL = {"providerID": "loopback", "modelID": "stand-in"}


def config_of(model: Model) -> str:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "nobody-s"},
        "models": {"stand-in": {"limit": {"context": 100_000, "output": 1_000}}},
    }
    return json.dumps({"provider": {"loopback": provider}, "model": "loopback/stand-in"})


def test_a_compaction_is_given_what_memory_holds_on_the_last_prompts(
    agents: Agents, model: Model
) -> None:
    agents.write(".config/opencode/opencode.json", config_of(model))
    agents.recollect("install", "opencode", "--hooks")
    with agents.started("opencode", "serve", "--port", "0", "--print-logs") as server:
        address = agents.wait_for(server, line_with="listening on").split()[-1]
        with httpx2.Client(base_url=address, timeout=200) as client:
            session = client.post("/session", json={}).json()["id"]
            said = {"parts": [{"type": "text", "text": QUESTION}], "model": MODEL}
            client.post(f"/session/{session}/message", json=said).raise_for_status()
            before = len(model.requests)
            client.post(f"/session/{session}/summarize", json=MODEL).raise_for_status()

    summing_up = json.dumps(model.requests[before:])
    assert "recollect-memory" in summing_up
    assert ANSWER in summing_up.partition("recollect-memory")[2]
