"""Other real agents list the server that `recollect install` wrote, and start it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integrations.agents import Agents


@pytest.mark.parametrize(
    ("agent", "command", "shown"),
    [
        ("opencode", "opencode mcp list", "connected"),
        ("gemini", "gemini mcp list 2>&1", "Connected"),
        ("copilot", "copilot mcp get recollect", "Enabled"),
    ],
)
def test_an_agent_lists_the_server_that_was_installed(
    agents: Agents, agent: str, command: str, shown: str
) -> None:
    agents.recollect("install", agent)
    # Gemini starts no servers in a folder that nobody has trusted.
    listed = agents.run("sh", "-c", command, GEMINI_CLI_TRUST_WORKSPACE="true")
    agents.recollect("install", agent, "--undo")

    assert shown in listed
    assert f"mcp -w {agents.workspace}" in listed
