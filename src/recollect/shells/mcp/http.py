"""Serving over streamable HTTP at /mcp: to this machine, or to others with a token.

There are no sessions: nothing is remembered between two requests of a client, so a client that is
never heard of again costs nothing. Nor is there a stream of our own messages, since there are none
to send; a GET is answered with 405, as the protocol provides.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from recollect.errors import RecollectError, UsageError
from recollect.shells.guard import Guard, RequestOrigin, read_token, require_token
from recollect.shells.http.bodies import framing_error, with_whole_bodies
from recollect.shells.http.errors import error_response, unknown_method
from recollect.shells.http.listen import Server, ServerLimits, address_of, bound
from recollect.shells.http.route import AGENT, ROUTE
from recollect.shells.http.state import MEMORIES, MemoryState
from recollect.shells.mcp.server import (
    CALL_SECONDS,
    CLOSE_SECONDS,
    USAGE,
    McpMemory,
    make_server,
    serve_memory,
    server_of,
)

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server as McpServer
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from recollect.shells.http.errors import RequestError
    from recollect.shells.http.many import MemoriesState
    from recollect.shells.mcp.server import McpOptions

PATH = "/mcp"
_MEMORY = "recollect.memory"  # where a request's scope holds what it may use
_LOOPBACK = "127.0.0.1"
_LIMITS = ServerLimits(stop_seconds=2)
"""Clients that listen for messages never disconnect by themselves."""
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]:|(?P<host>[^:\[\]]*):)?(?P<port>\d{1,5})")
_MAX_PORT = 65_535


def serve_http(
    options: McpOptions, *, address: str, token_file: Path | None, names: Sequence[str]
) -> None:
    """Serve until a signal arrives.

    Raises:
        UsageError: the address cannot be used, or others could reach it without a token.

    """
    host, port = parse_address(address)
    token = read_token(os.environ, file=token_file)
    require_token(host, token=token)
    with bound(host, port, options="--http") as listener:
        guard = Guard(host, listener.getsockname()[1], names=tuple(names), token=token)
        asyncio.run(_serve(options, guard=guard, listener=listener))


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of HOST:PORT; PORT alone means this machine only.

    Raises:
        UsageError: the text is neither.

    """
    parts = _ADDRESS.fullmatch(text.strip())
    if parts is None or int(parts["port"]) > _MAX_PORT:
        raise UsageError(
            f"{text!r} is not an address.", action="Write HOST:PORT, such as 127.0.0.1:8765."
        )
    return parts["six"] or parts["host"] or _LOOPBACK, int(parts["port"])


async def _serve(options: McpOptions, *, guard: Guard, listener: socket.socket) -> None:
    served = serve_memory(options)
    server = make_server(served, options)
    app = guarded(with_whole_bodies(stateless_app(server), limits=_LIMITS), guard)
    served.prepare()
    sys.stderr.write(f"MCP at {address_of(guard.host, guard.port)}{PATH}. Stop with Ctrl-C.\n")
    sys.stderr.flush()
    try:
        await Server(app, _LIMITS, lifespan="on").serve(sockets=[listener])
    finally:
        await served.close_or_exit(seconds=CLOSE_SECONDS, exit_code=0)


def stateless_app(server: McpServer[Any]) -> Starlette:
    """Return a server as an application at PATH that remembers no client."""
    # Our own guard comes first and also checks tokens.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=_LIMITS.body_bytes,
        transport_security=unguarded,
    )


def guarded(app: ASGIApp, guard: Guard) -> ASGIApp:
    """Return the application behind a guard."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope, guard) if scope["type"] == "http" else None
        responding = error_response(refusal) if refusal else app
        await responding(scope, receive, send)

    return answer


def _refusal(scope: Scope, guard: Guard) -> RequestError | None:
    refusal = framing_error(scope) or guard.refusal(RequestOrigin.from_headers(scope["headers"]))
    if refusal is None and scope["path"] == PATH and scope["method"] != "POST":
        return unknown_method(scope["method"], {"POST"})
    return refusal


class ManyMcp:
    """The tools of many memories: an application that serves the memory that a token opens.

    The guard of the HTTP server stands in front, and the token is checked as for every operation.
    """

    def __init__(self, state: MemoriesState) -> None:
        self._state = state
        told = f"This is the user's memory. {USAGE}"
        self._app = stateless_app(server_of(_memory_of, instructions=told))
        self._whole = with_whole_bodies(self._app, limits=ServerLimits())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the SDK needs besides requests."""
        async with self._app.router.lifespan_context(self._app):
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope[ROUTE] = f"{MEMORIES}/{{{AGENT}}}{PATH}"
        if scope["method"] != "POST":
            refused = error_response(unknown_method(scope["method"], {"POST"}))
            await refused(scope, receive, send)
            return
        try:
            state = await self._state.admit(scope)
        except RecollectError as error:
            refused = error_response(self._state.shown(error))
            await refused(scope, receive, send)
            return
        assert isinstance(state, MemoryState)  # noqa: S101 - its path has an agent
        # As for a server of one memory: scopes are seen only if they are named.
        scopes = state.scopes.names or frozenset()
        served = state.memory.limited_to(scopes, call_seconds=CALL_SECONDS)
        memory = McpMemory(served, scopes=scopes, read_only=state.is_read_only)
        inner = {**scope, "path": PATH, "raw_path": PATH.encode(), "root_path": "", _MEMORY: memory}
        await self._whole(inner, receive, send)


def _memory_of(context: ServerRequestContext[Any, Any]) -> McpMemory:
    assert context.request is not None  # noqa: S101 - every message comes with a request
    memory: McpMemory = context.request.scope[_MEMORY]
    return memory
