"""Running the HTTP server: open the memory, serve, stop in reverse order."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.records import dataclass
from recollect.shells.guard import Guard, is_loopback
from recollect.shells.http.app import build_app
from recollect.shells.http.listen import Server, ServerLimits, address_of, bound
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.http.state import AnyServer, ServerState
from recollect.shells.scopes import VisibleScopes
from recollect.shells.serving import ServedMemory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.routing import Route

    from recollect.async_memory import AsyncMemory
    from recollect.hosting.host import MemoryHost
    from recollect.shells.http.oauth import OAuth
    from recollect.shells.http.route import Operation
    from recollect.shells.mcp.http import McpApp
    from recollect.shells.mcp.server import McpOptions

    Ready = Callable[[Server, Any, str], None]
    """Called with the server, its state and its address when it accepts requests."""


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
    oauth: OAuth | None = None
    limits: ServerLimits = ServerLimits()


async def run_many(host: MemoryHost, *, options: ServeOptions, on_ready: Ready) -> None:
    """Serve the memories of a host until a signal."""
    # Not at the top: a server of one memory needs none of it.
    from recollect.shells.http.many import MANY_OPERATIONS, MemoriesState  # noqa: PLC0415
    from recollect.shells.mcp.http import tools_of_many  # noqa: PLC0415

    # Nobody knows the token that keeps others from the counters, unless the operator names one. A
    # server with another name is behind a proxy, which passes on what others send.
    is_private = is_loopback(options.host) and not options.names
    token = options.token or (None if is_private else secrets.token_hex(32))
    state = MemoriesState(host, is_read_only=options.is_read_only)
    try:
        await serve(
            state,
            options=replace(options, token=token),
            on_ready=on_ready,
            operations=MANY_OPERATIONS,
            tools=tools_of_many(state),
        )
    finally:
        state.threads.close()


async def run_server(
    open_memory: Callable[[], Awaitable[AsyncMemory]], *, options: ServeOptions, on_ready: Ready
) -> None:
    """Open a memory, serve it until a signal, and close it."""
    memory = ServedMemory(open_memory)
    state = ServerState(
        memory=memory,
        scopes=VisibleScopes(options.scopes),
        is_read_only=options.is_read_only,
        needs_token=options.token is not None,
        program=options.program,
    )
    try:
        await serve(state, options=options, on_ready=on_ready, prepare=memory.open)
    finally:
        await memory.close_or_exit(seconds=options.limits.stop_seconds, exit_code=1)


async def run_mcp(mcp: McpOptions, *, options: ServeOptions, on_ready: Ready) -> None:
    """Serve the tools of a memory until a signal; it is opened meanwhile."""
    from recollect.shells.mcp.http import LIMITS, PATH, McpApp  # noqa: PLC0415 - loads the SDK
    from recollect.shells.mcp.server import CLOSE_SECONDS  # noqa: PLC0415

    memory = mcp.serve()
    tools = mcp.limit(memory)
    state = AnyServer()
    memory.prepare()
    try:
        await serve(
            state,
            options=replace(options, limits=LIMITS),
            on_ready=on_ready,
            operations=(),
            tools=McpApp(PATH, state, lambda _: tools, instructions=mcp.instructions()),
        )
    finally:
        await memory.close_or_exit(seconds=CLOSE_SECONDS, exit_code=0)


async def serve(
    state: AnyServer,
    *,
    options: ServeOptions,
    on_ready: Ready,
    operations: Sequence[Operation] = OPERATIONS,
    tools: McpApp | None = None,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Answer requests until a signal, once `prepare` is done."""
    with bound(options.host, options.port) as listener:
        port = listener.getsockname()[1]
        guard = Guard(options.host, port, names=options.names, token=options.token)
        routes: Sequence[Route] = ()
        if (door := options.oauth) is not None:
            names = (*options.names, door.host)
            guard = replace(guard, names=names, accepts=door.accepts, challenge=door.challenge)
            routes = door.routes
        server = Server(
            build_app(
                state,
                guard=guard,
                limits=options.limits,
                operations=operations,
                tools=tools,
                sign_in=routes,
            ),
            options.limits,
        )
        if prepare is not None:
            await prepare()
        async with tools.running() if tools else nullcontext():
            with server.capture_signals():  # before anyone knows that it can be stopped
                on_ready(server, state, address_of(options.host, port))
                await server.serve(sockets=[listener])
