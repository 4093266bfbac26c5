"""Running the server: bind, open the memory, start the worker, serve, stop in the reverse order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.shells.guard import Guard
from recollect.shells.http.app import build_app
from recollect.shells.http.limits import Limits
from recollect.shells.http.listen import Server, address_of, bound
from recollect.shells.http.served import Served
from recollect.shells.serving import ServedMemory

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from recollect.async_memory import AsyncMemory


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a memory is served."""

    host: str
    port: int
    """0 is any that is free."""
    names: tuple[str, ...] = ()
    """Hosts it answers to besides its address."""
    token: str | None = None
    scopes: frozenset[str] | None = None
    is_read_only: bool = False
    program: str = "recollect"
    """How commands begin that an answer proposes."""
    limits: Limits = Limits()  # noqa: RUF009 - frozen


def serve(
    opened: Callable[[], Awaitable[AsyncMemory]],
    *,
    options: ServeOptions,
    told: Callable[[str], None],
) -> None:
    """Serve a memory until a signal ends it.

    Args:
        opened: opens the memory.
        options: where and to whom.
        told: is called with the address when it can be asked.

    Raises:
        UsageError: it cannot be bound there.
        RecollectError: the memory cannot be opened.

    """
    with bound(options.host, options.port, options="--host and --port") as listener:
        asyncio.run(_serve(opened, options=options, listener=listener, told=told))


async def _serve(
    opened: Callable[[], Awaitable[AsyncMemory]],
    *,
    options: ServeOptions,
    listener: socket.socket,
    told: Callable[[str], None],
) -> None:
    port = listener.getsockname()[1]
    served = Served(
        ServedMemory(opened),
        scopes=options.scopes,
        is_read_only=options.is_read_only,
        needs_token=options.token is not None,
        program=options.program,
    )
    server = build_server(served, options=options, port=port)
    address = f"{address_of(options.host, port)}/"
    await attend(server, served, listener=listener, ready=lambda: told(address))


def build_server(served: Served, *, options: ServeOptions, port: int) -> Server:
    """Return the server of a memory; it is started by `attend`."""
    guard = Guard(options.host, port, names=options.names, token=options.token)
    return Server(build_app(served, guard=guard, limits=options.limits), options.limits)


async def attend(
    server: Server, served: Served, *, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Keep the index fresh and serve until told to stop; then stop all and close the memory.

    Args:
        server: to run.
        served: the memory that it serves.
        listener: bound and listening.
        ready: is called when it can be asked.

    """
    try:
        await served.memory.open()
        with server.capture_signals():  # before anyone is told that it can be asked and stopped
            ready()
            await server.serve(sockets=[listener])
    finally:
        await served.stop()
        await served.memory.close_or_exit(seconds=server.limits.leave_seconds, exit_code=1)
