"""The real server as a process, and the SDK's own client to talk to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import mcp_types
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS

from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from mcp_types import CallToolResult

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def command(workspace: Path, *options: str) -> list[str]:
    return [*recollect_command(), "-w", str(workspace), "mcp", *options]


def started_anew(workspace: Path, *options: str) -> list[str]:
    """Return the command with an interpreter of its own, for tests that look at its process."""
    return [sys.executable, "-m", "recollect", "-w", str(workspace), "mcp", *options]


@asynccontextmanager
async def connected(
    workspace: Path,
    environ: Mapping[str, str],
    *options: str,
    mode: str = "legacy",
    name: str = "test",
) -> AsyncIterator[Client]:
    program, *arguments = command(workspace, *options)
    parameters = StdioServerParameters(command=program, args=arguments, env=dict(environ))
    info = mcp_types.Implementation(name=name, version="1")
    async with Client(parameters, mode=mode, client_info=info) as client:
        yield client


def talk(
    workspace: Path,
    environ: Mapping[str, str],
    conversation: Callable[[Client], Awaitable[None]],
    *options: str,
    mode: str = "legacy",
    name: str = "test",
) -> None:
    """Hold a conversation with a server of its own."""

    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            connected(workspace, environ, *options, mode=mode, name=name) as client,
        ):
            await conversation(client)

    asyncio.run(run())


async def answer(client: Client, tool: str, /, **arguments: object) -> dict[str, Any]:
    """Return the structured answer of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    structured: dict[str, Any] = result.structured_content
    return structured


async def synced(client: Client) -> dict[str, Any]:
    """Return the status once the first sync in the background is done."""
    while True:
        status = await answer(client, "memory_status")
        if status["worker"]["state"] != "syncing":
            return status


def text_of(result: CallToolResult) -> str:
    return "\n".join(getattr(part, "text", "") for part in result.content)


class Raw:
    """A server's process, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *messages: Mapping[str, object] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was printed to stderr."""
        assert self.process.stderr is not None
        said = self.process.stderr.read().decode()
        return self.process.wait(PATIENCE_SECONDS), said


@contextmanager
def raw(
    workspace: Path, environ: Mapping[str, str], *options: str, is_new: bool = False
) -> Iterator[Raw]:
    """Start a server to speak to line by line.

    Args:
        workspace: whose memory it serves.
        environ: its environment.
        options: of the command.
        is_new: it has an interpreter of its own, for tests that look at its process.

    """
    program = started_anew if is_new else command
    with running(program(workspace, *options), environ) as server:
        yield server


@contextmanager
def running(program: list[str], environ: Mapping[str, str]) -> Iterator[Raw]:
    with subprocess.Popen(
        program,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Raw(process)
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def served(workspace: Path, environ: Mapping[str, str], *options: str) -> Iterator[tuple[Raw, str]]:
    """Serve over HTTP; yields the process and its address."""
    with running(command(workspace, "--http", "127.0.0.1:0", *options), environ) as server:
        assert server.process.stderr is not None
        said = server.process.stderr.readline().decode()
        found = re.search(r"http://\S+/mcp", said)
        assert found is not None, said
        yield server, found[0]
        if server.process.poll() is None:
            os.kill(server.process.pid, signal.SIGTERM)
            assert server.process.wait(PATIENCE_SECONDS) == 0
