"""The real Claude Code with a model on loopback: plugin, configuration and hooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integrations.agents import ANSWER, QUESTION, RECOLLECT
from tests.integrations.model import REPEATED, SUMMARY

if TYPE_CHECKING:
    from tests.integrations.agents import Agents
    from tests.integrations.model import Model

ROOT = Path(__file__).parents[2]
PLUGIN = str(ROOT / "integrations" / "plugin")


def test_the_plugin_is_valid_and_can_be_installed(agents: Agents) -> None:
    agents.run("claude", "plugin", "validate", "--strict", PLUGIN)
    agents.run("claude", "plugin", "marketplace", "add", str(ROOT))
    agents.run("claude", "plugin", "install", "recollect@recollect")
    shown = agents.run("claude", "plugin", "details", "recollect")

    assert "Skills (4)" in shown
    assert "Hooks (5)" in shown
    assert "MCP servers (1)  recollect" in shown


def test_what_is_installed_is_listed_connected_and_gone_after_undo(agents: Agents) -> None:
    agents.recollect("install", "claude", "-w", str(agents.workspace))
    installed = agents.run("claude", "mcp", "get", "recollect")
    agents.recollect("install", "claude", "--undo")
    listed = agents.run("claude", "mcp", "list")

    assert "✔ Connected" in installed
    assert f"mcp -w {agents.workspace}" in installed
    assert "recollect" not in listed


def test_a_question_is_answered_through_the_plugin(agents: Agents, model: Model) -> None:
    answer = agents.run(
        *("claude", "-p", QUESTION, "--plugin-dir", PLUGIN),
        *("--allowedTools", "mcp__plugin_recollect_recollect"),
        ANTHROPIC_BASE_URL=model.url,
        RECOLLECT=str(RECOLLECT),
    )
    asked = json.dumps(model.requests[0]["messages"])

    assert answer.startswith(REPEATED)
    assert ANSWER in answer
    assert "has a memory of" in asked  # from SessionStart
    assert ANSWER in asked  # from UserPromptSubmit


def test_a_question_is_answered_through_what_was_installed(agents: Agents, model: Model) -> None:
    agents.recollect("install", "claude", "--hooks")
    answer = agents.run(
        *("claude", "-p", QUESTION, "--allowedTools", "mcp__recollect"),
        ANTHROPIC_BASE_URL=model.url,
    )

    assert ANSWER in answer
    assert ANSWER in json.dumps(model.requests[0]["messages"])
    assert "mcp__recollect__memory_get" in model.tools


def test_a_compacted_session_goes_on_with_what_was_said_before(
    agents: Agents, model: Model
) -> None:
    told = "The hedgehog behind the boiler is called Marmalade. What does Marmalade eat?"
    agents.recollect("install", "claude", "--hooks")
    agents.converse(
        *(told, "/compact", "go on"),
        ANTHROPIC_BASE_URL=model.url,
        RECOLLECT_SOURCES="memory,sessions",
    )
    summing_up, *_, last = (json.dumps(body["messages"]) for body in model.requests[2:])
    continued = last.partition(SUMMARY)[2]

    assert "Additional Instructions" not in summing_up  # PreCompact printed nothing
    assert "sessions/claude/" in continued
    assert "is called Marmalade" in continued
