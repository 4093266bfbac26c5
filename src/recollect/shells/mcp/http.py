"""Serving over streamable HTTP at /mcp: to this machine, or with a token to others."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from recollect.errors import UsageError
from recollect.shells.guard import Asked, Guard, read_token, require_token
from recollect.shells.http.limits import Limits
from recollect.shells.http.protocol import bounded
from recollect.shells.http.refuse import answer_refused
from recollect.shells.mcp.live import LiveMemory
from recollect.shells.mcp.server import make_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import FrameType

    from mcp.server.lowlevel.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

    from recollect.shells.mcp.offer import Offer

PATH = "/mcp"
_LOOPBACK = "127.0.0.1"
_LEAVE_SECONDS = 2
"""How long clients that listen for messages may take to hang up."""
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]:|(?P<host>[^:\[\]]*):)?(?P<port>\d{1,5})")
_MOST_PORT = 65_535
_LOG = logging.getLogger(__name__)


def serve_http(
    offer: Offer, *, address: str, token_file: Path | None, names: Sequence[str]
) -> None:
    """Serve until a signal comes.

    Raises:
        UsageError: the address cannot be used, or others could reach it without a token.

    """
    host, port = parse_address(address)
    token = read_token(os.environ, file=token_file)
    require_token(host, token=token)
    with _bound(host, port) as listener:
        guard = Guard(host, listener.getsockname()[1], names=tuple(names), token=token)
        asyncio.run(_serve(offer, guard=guard, listener=listener))


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of HOST:PORT; PORT alone is of this machine only.

    Raises:
        UsageError: it is neither.

    """
    parts = _ADDRESS.fullmatch(text.strip())
    if parts is None or int(parts["port"]) > _MOST_PORT:
        raise UsageError(
            f"{text!r} is no address to serve at.", action="Write HOST:PORT: 127.0.0.1:8765."
        )
    return parts["six"] or parts["host"] or _LOOPBACK, int(parts["port"])


class _Server(uvicorn.Server):
    """Stops on a signal and returns, so that the command ends as any other."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; told twice, at once."""
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


async def _serve(offer: Offer, *, guard: Guard, listener: socket.socket) -> None:
    live = LiveMemory(offer)
    server = make_server(live, read_only=offer.read_only, instructions=offer.instructions)
    app = guarded(_app(server), guard)
    config = uvicorn.Config(
        app,
        http=bounded(Limits()),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LEAVE_SECONDS,
    )
    live.start()
    shown = f"[{guard.host}]" if ":" in guard.host else guard.host
    sys.stderr.write(f"MCP at http://{shown}:{guard.port}{PATH}. Stop with Ctrl-C.\n")
    sys.stderr.flush()
    try:
        await _Server(config).serve(sockets=[listener])
    finally:
        if not await live.close():
            _LOG.warning("Stopped while the index was being worked on; what was done is kept.")
            os._exit(0)  # a thread that waits for a server elsewhere would keep the program


def _app(server: Server[Any]) -> ASGIApp:
    # The guard stands in front of it, and knows of tokens as well.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(streamable_http_path=PATH, transport_security=unguarded)


def guarded(app: ASGIApp, guard: Guard) -> ASGIApp:
    """Return the application for those whom the guard lets in."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            asked = Asked(
                host=headers.get(b"host"),
                origin=headers.get(b"origin"),
                fetch_site=headers.get(b"sec-fetch-site"),
                authorization=headers.get(b"authorization"),
            )
            refused = guard.refusal(asked)
            if refused is not None:
                await answer_refused(refused, path=scope["path"])(scope, receive, send)
                return
        await app(scope, receive, send)

    return answer


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"{host}:{port} cannot be served at: {error.strerror or error}.",
            action="Name an address of this machine and a free port; 0 is any.",
        ) from error
