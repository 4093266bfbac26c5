"""Running the HTTP server: open the memory, serve, stop in reverse order."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.shells.guard import Guard, is_loopback
from recollect.shells.http.app import build_app
from recollect.shells.http.listen import Server, ServerLimits
from recollect.shells.http.state import ServerState
from recollect.shells.serving import ServedMemory

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from recollect.async_memory import AsyncMemory
    from recollect.hosting.host import MemoryHost


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where a memory is served, and to whom."""

    host: str
    port: int
    """0 for any free port."""
    names: tuple[str, ...] = ()
    """Host names to answer to besides the address."""
    token: str | None = None
    scopes: frozenset[str] | None = None
    is_read_only: bool = False
    program: str = "recollect"
    """How suggested commands start."""
    limits: ServerLimits = ServerLimits()


async def run_many(
    host: MemoryHost,
    *,
    options: ServeOptions,
    listener: socket.socket,
    on_ready: Callable[[Server], None],
) -> None:
    """Serve the memories of a host on a listening socket until a signal."""
    # Not at the top: a server of one memory needs none of it.
    from recollect.shells.http.many import MANY_OPERATIONS, ROOT, MemoriesState  # noqa: PLC0415
    from recollect.shells.mcp.http import ManyMcp  # noqa: PLC0415

    # Nobody knows the token that keeps others from the counters, unless the operator names one. A
    # server with another name is behind a proxy, which passes on what others send.
    is_private = is_loopback(options.host) and not options.names
    token = options.token or (None if is_private else secrets.token_hex(32))
    guard = Guard(options.host, listener.getsockname()[1], names=options.names, token=token)
    state = MemoriesState(host, is_read_only=options.is_read_only)
    tools = ManyMcp(state)
    app = build_app(
        state,
        guard=guard,
        limits=options.limits,
        operations=MANY_OPERATIONS,
        more={f"{ROOT}/mcp": tools},
    )
    server = Server(app, options.limits)
    try:
        async with tools.running():
            with server.capture_signals():  # before anyone knows that it can be stopped
                on_ready(server)
                await server.serve(sockets=[listener])
    finally:
        state.close()


async def run_server(
    open_memory: Callable[[], Awaitable[AsyncMemory]],
    *,
    options: ServeOptions,
    listener: socket.socket,
    on_ready: Callable[[Server, ServerState], None],
) -> None:
    """Open a memory, serve it on a listening socket until a signal, and close it."""
    guard = Guard(options.host, listener.getsockname()[1], names=options.names, token=options.token)
    state = ServerState(
        ServedMemory(open_memory),
        scopes=options.scopes,
        is_read_only=options.is_read_only,
        needs_token=options.token is not None,
        program=options.program,
    )
    server = Server(build_app(state, guard=guard, limits=options.limits), options.limits)
    try:
        await state.memory.open()
        with server.capture_signals():  # before anyone knows that it can be stopped
            on_ready(server, state)
            await server.serve(sockets=[listener])
    finally:
        await state.close(seconds=options.limits.stop_seconds)
