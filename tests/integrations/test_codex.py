"""The real Codex with a model on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integrations.agents import ANSWER, QUESTION, RECOLLECT
from tests.integrations.model import REPEATED

if TYPE_CHECKING:
    from tests.integrations.agents import Agents
    from tests.integrations.model import Model

CONFIG = """# mine
model = "stand-in"
model_provider = "loopback" # no one else's

[model_providers.loopback]
name = "Loopback"
base_url = "{url}/v1"
wire_api = "responses"
"""


def test_what_is_installed_is_what_codex_reads(agents: Agents) -> None:
    agents.recollect("install", "codex")
    (listed,) = json.loads(agents.run("codex", "mcp", "list", "--json"))
    server = json.loads(agents.run("codex", "mcp", "get", "recollect", "--json"))

    assert ("recollect", True) == (listed["name"], server["enabled"])
    assert str(RECOLLECT) == server["transport"]["command"]
    assert ["mcp", "-w", str(agents.workspace)] == server["transport"]["args"]


def test_a_question_is_answered_through_what_was_installed(agents: Agents, model: Model) -> None:
    config = agents.write(".codex/config.toml", CONFIG.format(url=model.url))
    agents.recollect("install", "codex")
    header = "[mcp_servers.recollect]\n"
    # A busy machine may else begin before the server is there.
    patient = f"{header}required = true\nstartup_timeout_sec = 120\n"
    written = config.read_text(encoding="utf-8")
    assert 1 == written.count(header)
    config.write_text(written.replace(header, patient), encoding="utf-8")
    answer = agents.run(
        "codex",
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        QUESTION,
    )
    agents.recollect("install", "codex", "--undo")

    assert REPEATED in answer
    assert ANSWER in answer
    assert "recollect" not in config.read_text(encoding="utf-8")
    assert CONFIG.format(url=model.url) in config.read_text(encoding="utf-8")


def test_hooks_that_were_installed_recall_for_codex_too(agents: Agents, model: Model) -> None:
    agents.write(".codex/config.toml", CONFIG.format(url=model.url))
    agents.recollect("install", "codex", "--hooks")
    agents.run(
        *("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        *("--dangerously-bypass-hook-trust", QUESTION),
    )
    asked = json.dumps(model.requests[0]["input"])

    assert "has a memory of" in asked  # from SessionStart
    assert ANSWER in asked  # from UserPromptSubmit


def test_the_plugin_can_be_installed_from_the_checkout(agents: Agents) -> None:
    root = Path(__file__).parents[2]
    agents.run("codex", "plugin", "marketplace", "add", root)
    agents.run("codex", "plugin", "add", "recollect@recollect")
    server = json.loads(agents.run("codex", "mcp", "get", "recollect", "--json"))["transport"]

    assert ["recollect", "mcp"] == [server["command"], *server["args"]]
    assert "RECOLLECT_WORKSPACE" in server["env_vars"]
