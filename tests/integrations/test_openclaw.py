"""The real OpenClaw with a model on loopback: by MCP, and with Recollect in its memory slot."""

from __future__ import annotations

import json
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
CONFIG = """// mine
{{
  models: {{
    providers: {{
      loopback: {{ // no one else's
        baseUrl: "{url}/v1", apiKey: "nobody-s", api: "openai-completions",
        models: [{{ id: "m", name: "m", contextWindow: 128000, maxTokens: 4096, input: ["text"] }}],
      }},
    }},
  }},
  agents: {{ defaults: {{ workspace: "{workspace}", model: {{ primary: "loopback/m" }} }} }},
  tools: {{ toolSearch: false }},
}}
"""


COMMAND = "plugins.entries.recollect.config.command"


def in_slot(agents: Agents, *, command: str) -> None:
    """Install the plugin as the documentation says."""
    agents.run("openclaw", "plugins", "install", "--force", "--accept-capabilities", PLUGIN)
    agents.run("openclaw", "plugins", "disable", "memory-core")
    agents.run("openclaw", "config", "set", COMMAND, command)


@pytest.fixture
def config(agents: Agents, model: Model) -> Path:
    text = CONFIG.format(url=model.url, workspace=agents.workspace)
    return agents.write(".openclaw/openclaw.json", text)


def test_a_question_is_answered_by_mcp(agents: Agents, model: Model, config: Path) -> None:
    before = config.read_text(encoding="utf-8")
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
    assert "// mine" in before
    assert "recollect" not in config.read_text(encoding="utf-8")


def test_comments_of_the_configuration_outlive_installing_and_undoing(
    agents: Agents, config: Path
) -> None:
    before = config.read_text(encoding="utf-8")
    agents.recollect("install", "openclaw")
    listed = json.loads(agents.run("openclaw", "mcp", "list", "--json"))
    agents.recollect("install", "openclaw", "--undo")

    assert "recollect" in json.dumps(listed)
    assert before == config.read_text(encoding="utf-8")


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
