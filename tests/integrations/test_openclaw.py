"""The real OpenClaw with a model on loopback: by MCP, and with Recollect in its memory slot."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integrations.agents import ANSWER, QUESTION, RECOLLECT
from tests.integrations.model import REPEATED

if TYPE_CHECKING:
    from tests.integrations.agents import Agents
    from tests.integrations.model import Model

PLUGIN = str(Path(__file__).parents[2] / "integrations" / "openclaw")
TURN = ("openclaw", "agent", "--local", "--agent", "main", "--session-id", "one", "--message")
COMMENTED = "// mine\n"


def config_of(url: str, workspace: Path) -> str:
    """Return a configuration as OpenClaw itself writes it: plain JSON."""
    model = {"id": "m", "name": "m", "contextWindow": 128_000, "maxTokens": 4096, "input": ["text"]}
    loopback = {"baseUrl": f"{url}/v1", "apiKey": "nobody-s", "api": "openai-completions"}
    return json.dumps(
        {
            "models": {"providers": {"loopback": {**loopback, "models": [model]}}},
            "agents": {
                "defaults": {"workspace": str(workspace), "model": {"primary": "loopback/m"}}
            },
            "tools": {"toolSearch": False},
        }
    )


COMMAND = "plugins.entries.recollect.config.command"


def in_slot(agents: Agents, *, command: str) -> None:
    """Install the plugin as the documentation says."""
    agents.run("openclaw", "plugins", "install", "--force", "--accept-capabilities", PLUGIN)
    agents.run("openclaw", "plugins", "disable", "memory-core")
    agents.run("openclaw", "config", "set", COMMAND, command)


@pytest.fixture
def config(agents: Agents, model: Model) -> Path:
    return agents.write(".openclaw/openclaw.json", config_of(model.url, agents.workspace))


def test_a_question_is_answered_by_mcp(agents: Agents, model: Model, config: Path) -> None:
    agents.recollect("install", "openclaw")
    agents.run("openclaw", "config", "validate")
    checked = agents.run("openclaw", "mcp", "doctor", "recollect", "--probe")
    agents.run("openclaw", "config", "set", "plugins.slots.memory", "none")
    answer = agents.run(*TURN, QUESTION)
    agents.recollect("install", "openclaw", "--undo")

    assert "recollect: ok" in checked
    assert "recollect__memory_search" in model.tools
    assert REPEATED in answer
    assert ANSWER in answer
    assert "recollect" not in config.read_text(encoding="utf-8")


def test_installing_and_undoing_leave_the_configuration_as_it_was(
    agents: Agents, config: Path
) -> None:
    before = config.read_text(encoding="utf-8")
    agents.recollect("install", "openclaw")
    listed = json.loads(agents.run("openclaw", "mcp", "list", "--json"))
    agents.recollect("install", "openclaw", "--undo")

    assert "recollect" in json.dumps(listed)
    assert before == config.read_text(encoding="utf-8")


def test_a_configuration_with_comments_is_left_alone_and_the_lines_to_add_are_shown(
    agents: Agents, config: Path
) -> None:
    commented = COMMENTED + config.read_text(encoding="utf-8")
    config.write_text(commented, encoding="utf-8")
    told = agents.fail(RECOLLECT, "install", "openclaw")

    assert "it was left as it was" in told
    assert '"requestTimeoutMs": 30000' in told
    assert commented == config.read_text(encoding="utf-8")


def test_a_question_is_answered_from_the_memory_slot(
    agents: Agents, model: Model, config: Path
) -> None:
    in_slot(agents, command=str(RECOLLECT))
    slot = json.loads(config.read_text(encoding="utf-8"))["plugins"]["slots"]["memory"]
    found = agents.run("openclaw", "memory", "search", QUESTION)
    answer = agents.run(*TURN, QUESTION)
    _, _, told = answer.partition(REPEATED)

    assert "recollect" == slot
    assert ANSWER in found
    assert ANSWER in told
    assert {"memory_search", "memory_get"} <= model.tools
    assert '"fusion":"calibrated"' in told  # Recollect's own word
    assert "## Memory Recall" in json.dumps(model.requests[0])


def test_a_question_is_answered_from_a_conversation_held_in_openclaw(
    agents: Agents, model: Model, config: Path
) -> None:
    agents.run("openclaw", "config", "set", "plugins.slots.memory", "none")
    agents.run(*TURN, "The spare key of the boat house hangs behind the blue barrel.")
    in_slot(agents, command=str(RECOLLECT))
    agents.run("openclaw", "config", "set", "plugins.entries.recollect.config.sessions", "true")
    agents.recollect("config", "set", "sources", "memory,sessions")
    model.query = "Where does the spare key of the boat house hang?"
    found = agents.run("openclaw", "memory", "search", model.query)
    answer = agents.run(*TURN[:-2], "two", "--message", "Where is the key?")
    _, _, told = answer.partition(REPEATED)

    assert config.is_file()
    assert "sessions/main/one.jsonl:" in found
    assert "hangs behind the blue barrel" in found
    assert "sessions/main/one.jsonl" in told
    assert "hangs behind the blue barrel" in told


def test_the_memory_command_has_the_options_and_the_lines_of_openclaws_own(
    agents: Agents, config: Path
) -> None:
    in_slot(agents, command=str(RECOLLECT))
    agents.run("openclaw", "config", "set", "memory.search.extraPaths", '["~/papers"]')
    agents.run("openclaw", "config", "set", "memory.search.query.maxResults", "2")
    memory = ("openclaw", "memory")
    indexed = agents.run(*memory, "index", "--force", "--verbose", "--agent", "main")
    status = agents.run(*memory, "status", "--deep")
    configured = json.loads(agents.run(*memory, "search", "--query", "deploy", "--json"))
    given = json.loads(agents.run(*memory, "search", "deploy", "--max-results", "9", "--json"))
    floor = sorted(hit["score"] for hit in given["results"])[-2]
    best = json.loads(agents.run(*memory, "search", "deploy", "--min-score", str(floor), "--json"))
    shown = agents.run(*memory, "search", "--query", QUESTION)
    told = agents.run(*memory, "--help")
    reset = agents.run(*memory, "reset", "--yes")

    assert config.is_file()
    assert re.search(r"^Memory index updated \(main\): \d+ files indexed\.$", indexed, re.MULTILINE)
    assert "Memory Search (main)\nProvider: local (requested: auto)\nModel: " in status
    assert re.search(r"^Indexed: \d+ files · \d+ chunks$", status, re.MULTILINE)
    assert "\nEmbeddings: ready\n" in status
    assert "extra_paths not taken over yet: `recollect config import-openclaw" in status
    assert (2, 9) == (len(configured["results"]), len(given["results"]))
    assert all(hit["score"] >= floor for hit in best["results"])
    assert re.match(r"\d\.\d{3} \S+:\d+-\d+\n", shown)
    assert "Not in Recollect:" in told
    assert "promote-explain" in told
    assert "Memory index reset (main)." in reset
    assert "Recollect has no `promote`." in agents.fail(*memory, "promote", "--limit", "10")
    assert "--max-results must be" in agents.fail(*memory, "search", "x", "--max-results", "0x10")
    assert "Missing search query." in agents.fail(*memory, "search")


def test_the_gateway_searches_through_the_memory_slot(agents: Agents, config: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    in_slot(agents, command=str(RECOLLECT))
    for key, value in (("mode", "local"), ("port", str(port)), ("auth.mode", "token")):
        agents.run("openclaw", "config", "set", f"gateway.{key}", value)
    agents.run("openclaw", "config", "set", "gateway.auth.token", "nobody-s-0123456789")
    asked = json.dumps({"query": QUESTION, "maxResults": 3})
    with agents.started("openclaw", "gateway", "run", "--bind", "loopback") as gateway:
        agents.wait_for(gateway, line_with="heartbeat")
        shown = agents.run("openclaw", "gateway", "call", "memory.search", "--params", asked)

    assert config.is_file()
    assert '"searchMode": "hybrid"' in shown
    assert ANSWER in shown


def test_a_memory_that_cannot_be_asked_is_said_to_the_model(agents: Agents, config: Path) -> None:
    in_slot(agents, command="/no/such/recollect")
    answer = agents.run(*TURN, QUESTION)

    assert config.is_file()
    assert '"unavailable":true' in answer
    assert "cannot be started (ENOENT)" in answer
    assert COMMAND in answer
