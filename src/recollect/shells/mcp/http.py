"""Serving over streamable HTTP at /mcp: to this machine, or to others with a token.

There are no sessions: nothing is remembered between two requests of a client, so a client that is
never heard of again costs nothing. Nor is there a stream of our own messages, since there are none
to send; a GET is answered with 405, as the protocol provides.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings

from recollect.errors import UsageError
from recollect.shells.guard import Guard, RequestOrigin, read_token, require_token
from recollect.shells.http.bodies import framing_error, with_whole_bodies
from recollect.shells.http.errors import error_response, refused_response, unknown_method
from recollect.shells.http.listen import Server, ServerLimits, address_of, bound
from recollect.shells.mcp.server import CLOSE_SECONDS, make_server, serve_memory

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from pathlib import Path

    from mcp.server.lowlevel.server import Server as McpServer
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from recollect.shells.mcp.options import McpOptions

PATH = "/mcp"
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
        await (refusal or app)(scope, receive, send)

    return answer


def _refusal(scope: Scope, guard: Guard) -> Response | None:
    path = scope["path"]
    ambiguous = framing_error(scope)
    if ambiguous is not None:
        return error_response(ambiguous, path=path)
    refused = guard.refusal(RequestOrigin.from_headers(scope["headers"]))
    if refused is not None:
        return refused_response(refused, path=path)
    if path == PATH and scope["method"] != "POST":
        return error_response(unknown_method(scope["method"], {"POST"}), path=path)
    return None
