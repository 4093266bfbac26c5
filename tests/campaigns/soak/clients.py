"""The ways to reach a memory: commands, HTTP, MCP over stdio and over HTTP, all with one shape."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from tests.mcp.serving import INITIALIZE, INITIALIZED
from tests.support.history import AGENT, OWNER
from tests.support.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.campaigns.soak.processes import Process

Json = dict[str, Any]
_MANY = 50


class LostError(Exception):
    """No answer came."""

    def __init__(self, *, is_over: bool) -> None:
        """Say whether nothing is left that could still do what was asked."""
        super().__init__()
        self.is_over = is_over


class RefusedError(Exception):
    """The answer is an error, as the product words them."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class UnexpectedError(Exception):
    """The answer is not one that the product may give."""


class Client(Protocol):
    """What every way can do."""

    name: str
    confidence: float
    syncs_on_search: bool

    def remember(self, fact: Mapping[str, str]) -> Json:
        """Save a fact."""

    def forget(self, fact_id: str) -> Json:
        """Forget a fact."""

    def search(self, query: str, *, source: str) -> Json:
        """Search one source."""


class Commands:
    """The command line; some commands are killed before they end."""

    confidence = OWNER
    syncs_on_search = True

    def __init__(
        self,
        workspace: Path,
        environ: Mapping[str, str],
        *,
        name: str,
        seed: int,
        killed_share: float,
    ) -> None:
        self.name = name
        self.kills = 0
        self._workspace = workspace
        self._environ = dict(environ)
        self._chance = random.Random(seed)
        self._killed_share = killed_share

    def remember(self, fact: Mapping[str, str]) -> Json:
        options = [
            part for name, value in fact.items() if name != "text" for part in (f"--{name}", value)
        ]
        return self.run("remember", fact["text"], *options)

    def forget(self, fact_id: str) -> Json:
        return self.run("facts", "forget", fact_id)

    def supersede(self, old_id: str, new_id: str) -> Json:
        return self.run("facts", "supersede", old_id, new_id)

    def facts(self, entity: str, *, include_superseded: bool = False) -> Json:
        past = ("--include-superseded",) if include_superseded else ()
        return self.run("facts", "list", "--entity", entity, *past)

    def search(self, query: str, *, source: str) -> Json:
        return self.run("search", query, "--source", source, "--max-results", str(_MANY))

    def run(self, *arguments: str) -> Json:
        """Run a command, perhaps not to its end, and return what it printed."""
        child = subprocess.Popen(
            [sys.executable, "-m", "recollect", "-w", str(self._workspace), *arguments, "--json"],
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        is_killed = self._chance.random() < self._killed_share
        seconds = self._chance.uniform(0.3, 2.0) if is_killed else PATIENCE_SECONDS
        try:
            out, said = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.communicate()
            if not is_killed:
                raise UnexpectedError(f"{arguments} did not end") from None
            self.kills += 1
            raise LostError(is_over=True) from None
        if "Traceback" in said or "locked" in said:
            raise UnexpectedError(f"{arguments}: {said}")
        answer: Json = json.loads(out) if out.strip() else {}
        if child.returncode:
            refused = answer.get("error") or {}
            if "checks" in answer:
                return answer
            if not refused:
                raise UnexpectedError(f"{arguments} ended with {child.returncode}: {out} {said}")
            raise RefusedError(refused["type"], refused["message"])
        return {**answer, "said": said}


class Server(Protocol):
    """A process that serves over HTTP."""

    name: str
    is_mortal: bool

    @property
    def child(self) -> subprocess.Popen[bytes]:
        """The process that runs now."""

    @property
    def url(self) -> str:
        """The address it listens on now."""


class Http:
    """`recollect serve`."""

    confidence = OWNER
    syncs_on_search = False  # its worker looks for changes

    def __init__(self, server: Server) -> None:
        self.name = server.name
        self._server = server

    def remember(self, fact: Mapping[str, str]) -> Json:
        body: Json = dict(fact)
        if "supersedes" in body:
            body["supersedes"] = [body["supersedes"]]
        return self.ask("POST", "/api/facts", body)

    def forget(self, fact_id: str) -> Json:
        return self.ask("DELETE", f"/api/facts/{quote(fact_id)}")

    def supersede(self, old_id: str, new_id: str) -> Json:
        return self.ask("POST", f"/api/facts/{quote(old_id)}/supersede", {"by": new_id})

    def facts(self, entity: str, *, include_superseded: bool = False) -> Json:
        asked = {"entity": entity, "includeSuperseded": str(include_superseded).lower()}
        return self.ask("GET", f"/api/facts?{urlencode(asked)}")

    def search(self, query: str, *, source: str) -> Json:
        asked = {"query": query, "source": source, "maxResults": _MANY}
        return self.ask("GET", f"/api/search?{urlencode(asked)}")

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send a request and return the answer."""
        child = self._server.child
        parts = urlsplit(self._server.url)
        connection = HTTPConnection(parts.netloc or "127.0.0.1:1", timeout=PATIENCE_SECONDS)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer: Json = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise _lost(self._server, child, error) from error
        finally:
            connection.close()
        if response.status >= 500 and answer.get("error", {}).get("type") != "timeout":
            raise UnexpectedError(f"{method} {path}: {response.status} {answer}")
        if "error" in answer:
            if answer["error"]["type"] == "timeout":
                raise LostError(is_over=False)
            refused = RefusedError(answer["error"]["type"], answer["error"]["message"])
            # 404 is for the fact in the path; one that the body names is a conflict if it is gone.
            if refused.kind == "conflict" and "There is no fact" in str(refused):
                refused.kind = "not_found"
            raise refused
        return answer


class _Mcp:
    confidence = AGENT
    syncs_on_search = True

    def remember(self, fact: Mapping[str, str]) -> Json:
        return self.call("memory_remember", dict(fact))

    def forget(self, fact_id: str) -> Json:
        return self.call("memory_forget", {"id": fact_id})

    def search(self, query: str, *, source: str) -> Json:
        asked = {"query": query, "source": source, "maxResults": _MANY, "maxTokens": 20_000}
        return self.call("memory_search", asked)

    def call(self, tool: str, arguments: Json) -> Json:
        """Call a tool and return its structured answer."""
        answer = self._request("tools/call", {"name": tool, "arguments": arguments})
        if "result" not in answer:
            raise UnexpectedError(f"{tool}: {answer}")
        result = answer["result"]
        structured: Json = result.get("structuredContent") or {}
        if result.get("isError"):
            said = " ".join(part.get("text", "") for part in result["content"])
            if "did not answer within" in said:
                raise LostError(is_over=False)
            raise RefusedError(str(structured.get("type", "")), said)
        return structured

    def _request(self, method: str, parameters: Json) -> Json:
        raise NotImplementedError


class McpStdio(_Mcp):
    """`recollect mcp`, as an agent's host starts it."""

    def __init__(self, server: Process) -> None:
        self.name = server.name
        self._server = server
        self._greeted = 0
        self._number = 0

    def _request(self, method: str, parameters: Json) -> Json:
        with self._server.turn:
            child = self._server.child
            try:
                if self._greeted != child.pid:
                    self._say(INITIALIZE)
                    self._hear(0)
                    self._say(INITIALIZED)
                    self._greeted = child.pid
                self._number += 1
                asked = {"jsonrpc": "2.0", "id": self._number, "method": method}
                self._say({**asked, "params": parameters})
                return self._hear(self._number)
            except (OSError, ValueError) as error:
                raise _lost(self._server, child, error) from error

    def _say(self, message: Mapping[str, object]) -> None:
        assert self._server.child.stdin is not None
        self._server.child.stdin.write(json.dumps(message).encode() + b"\n")
        self._server.child.stdin.flush()

    def _hear(self, number: int) -> Json:
        assert self._server.child.stdout is not None
        while True:
            answer: Json = json.loads(self._server.child.stdout.readline())  # "" is not JSON
            if answer.get("id") == number:
                return answer


class McpHttp(_Mcp):
    """`recollect mcp --http`, with a session for a few calls; some are never ended."""

    def __init__(self, server: Process, *, seed: int, abandoned_share: float) -> None:
        self.name = server.name
        self.abandoned = 0
        self._server = server
        self._chance = random.Random(seed)
        self._abandoned_share = abandoned_share
        self._session = ""
        self._left = 0
        self._number = 0
        self._lock = threading.Lock()

    def _request(self, method: str, parameters: Json) -> Json:
        with self._lock:
            if not self._left:
                self._begin()
            self._left -= 1
            self._number += 1
            asked = {"jsonrpc": "2.0", "id": self._number, "method": method}
            try:
                return self._post({**asked, "params": parameters})
            except LostError:
                self._left = 0
                self._session = ""
                raise

    def _begin(self) -> None:
        if self._session and self._chance.random() >= self._abandoned_share:
            self._post(None)
        elif self._session:
            self.abandoned += 1
        self._session = ""
        self._post(INITIALIZE)
        self._post(INITIALIZED)
        self._left = self._chance.randint(3, 30)

    def _post(self, message: Mapping[str, object] | None) -> Json:
        child = self._server.child
        parts = urlsplit(self._server.url)
        connection = HTTPConnection(parts.netloc or "127.0.0.1:1", timeout=PATIENCE_SECONDS)
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **({"Mcp-Session-Id": self._session} if self._session else {}),
        }
        try:
            sent = None if message is None else json.dumps(message)
            connection.request("DELETE" if message is None else "POST", "/mcp", sent, headers)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, HTTPException) as error:
            raise _lost(self._server, child, error) from error
        finally:
            connection.close()
        if response.status not in {200, 202, 204}:
            raise UnexpectedError(f"{message}: {response.status} {text}")
        self._session = response.headers.get("Mcp-Session-Id") or self._session
        found = [
            line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()
        ]
        answer: Json = json.loads(found[-1]) if found else json.loads(text) if text.strip() else {}
        return answer


def _lost(server: Server, child: subprocess.Popen[bytes], error: Exception) -> Exception:
    """Tell a killed server from one that lives and did not answer."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        if server.is_mortal:
            child.wait(PATIENCE_SECONDS)
            return LostError(is_over=True)
    return UnexpectedError(f"{server.name} did not answer: {error!r}")
