"""Serving over standard input and output, from the first message to the last answer.

The SDK takes both over: other code in this program and its children writes to stderr and reads
nothing. A thread that reads may wait for the client forever, so a signal ends the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from recollect.shells.mcp.server import CLOSE_SECONDS, server_of

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.shared._stream_protocols import ReadStream, WriteStream

    from recollect.shells.mcp.server import McpOptions

    Incoming = SessionMessage | Exception

MOST_PENDING = 256
"""Requests without an answer that the client has read; no more are taken meanwhile."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def serve_stdio(options: McpOptions) -> None:
    """Serve until the input ends or a signal arrives."""
    asyncio.run(_serve(options))


async def _serve(options: McpOptions) -> None:
    """Serve one client until it leaves or a signal arrives."""
    stopped = asyncio.ensure_future(_stop_signal())
    await asyncio.sleep(0)  # from here on, signals are handled
    served = options.serve()
    memory = options.limit(served)
    server = server_of(lambda _: memory, instructions=options.instructions())
    async with stdio_server() as (incoming, outgoing):
        served.prepare()
        serving = asyncio.ensure_future(_converse(server, incoming, outgoing))
        try:
            await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not serving.done():  # a signal, or nobody reads the answers
                with anyio.CancelScope(shield=True):
                    await served.close(seconds=CLOSE_SECONDS)
                os._exit(0)
        serving.result()
    await served.close_or_exit(seconds=CLOSE_SECONDS, exit_code=0)


async def _stop_signal() -> None:
    """Return when the program is told to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    await stop.wait()


async def _converse(
    server: Server[Any], incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]
) -> None:
    """Pass on messages, then wait until all are answered: the SDK alone drops the last requests."""
    to_server, asked = anyio.create_memory_object_stream["Incoming"](0)
    answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered: list[object] = []  # a client may use an id twice, or cancel what is no id
    places = asyncio.Semaphore(MOST_PENDING)

    def note_answered(request_id: object) -> None:
        if request_id in unanswered:
            unanswered.remove(request_id)
            places.release()

    async def pass_on_requests() -> None:
        async with to_server:
            async for message in incoming:
                match message:
                    case SessionMessage(message=types.JSONRPCRequest(id=request_id)):
                        await places.acquire()
                        unanswered.append(request_id)
                    case SessionMessage(
                        message=types.JSONRPCNotification(
                            method="notifications/cancelled", params=params
                        )
                    ):
                        note_answered((params or {}).get("requestId"))
                await to_server.send(message)
            for _ in range(MOST_PENDING):
                await places.acquire()

    async def pass_on_answers() -> None:
        async with outgoing:
            async for message in from_server:
                await outgoing.send(message)
                note_answered(getattr(message.message, "id", None))

    async with anyio.create_task_group() as group:
        group.start_soon(pass_on_requests)
        group.start_soon(pass_on_answers)
        await server.run(asked, answers, server.create_initialization_options())
