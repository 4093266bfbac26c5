"""The real Codex with a model on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integrations.agents import ANSWER, QUESTION, RECOLLECT
from tests.integrations.model import REPEATED

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

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


class Server:
    """The server of Codex that its programs talk to, in lines of JSON."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        self._asked = 0

    def ask(self, method: str, **params: object) -> Any:
        """Return the result of a method."""
        assert self._running.stdin is not None
        self._asked += 1
        question = {"id": self._asked, "method": method, "params": params}
        self._running.stdin.write(json.dumps(question) + "\n")
        self._running.stdin.flush()
        return self._next(lambda told: told.get("id") == self._asked)["result"]

    def do(self, method: str, **params: object) -> None:
        """Call a method that starts a turn, and wait for its end."""
        self.ask(method, **params)
        self._next(lambda told: told.get("method") == "turn/completed")

    def trust_hooks(self, folder: Path) -> None:
        """Trust all hooks that there are, as `/hooks` does."""
        (listed,) = self.ask("hooks/list", cwds=[str(folder)])["data"]
        trusted = {each["key"]: {"trusted_hash": each["currentHash"]} for each in listed["hooks"]}
        edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
        self.ask("config/batchWrite", edits=[edit], reloadUserConfig=True)

    def _next(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert self._running.stdout is not None
        lines = (json.loads(line) for line in self._running.stdout if line.startswith("{"))
        return next(told for told in lines if is_wanted(told))


def test_a_compacted_session_goes_on_with_what_was_said_before(
    agents: Agents, model: Model
) -> None:
    told = "The hedgehog behind the boiler is called Marmalade. What does Marmalade eat?"
    agents.write(".codex/config.toml", CONFIG.format(url=model.url))
    agents.recollect("install", "codex", "--hooks")
    with agents.started(*("codex", "app-server"), RECOLLECT_SOURCES="memory,sessions") as running:
        server = Server(running)
        server.ask("initialize", clientInfo={"name": "test", "version": "1"})
        server.trust_hooks(agents.workspace)
        access = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
        thread = server.ask("thread/start", cwd=str(agents.workspace), **access)["thread"]["id"]
        server.do("turn/start", threadId=thread, input=[{"type": "text", "text": told}])
        server.do("thread/compact/start", threadId=thread)
        server.do("turn/start", threadId=thread, input=[{"type": "text", "text": "go on"}])

    # After the summary of Codex, which says nothing.
    continued = json.dumps(model.requests[-1]["input"]).rpartition("produced a summary")[2]
    assert "sessions/codex/" in continued
    assert "(User): The hedgehog behind the boiler is called Marmalade." in continued
