"""A conversation over stdio, from the first message to the last answer.

Two threads read and write, since either may wait for the client forever. They are daemon threads
that hold no lock, so the program can end without them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import queue
import signal
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from recollect.records import dataclass
from recollect.shells.mcp.server import CLOSE_SECONDS, make_server, serve_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel.server import Server

    from recollect.shells.mcp.options import McpOptions
    from recollect.shells.mcp.stdio import StdioTransport

    Incoming = SessionMessage | Exception
    ToServer = MemoryObjectSendStream[Incoming]

_LAST_SECONDS = 10.0
"""How long answers may take after the input has ended, as in `printf … | recollect mcp`."""
_FLUSH_SECONDS = 2.0
MOST_PENDING = 256
"""Requests without an answer that the client has read; no more messages are read meanwhile."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_LOG = logging.getLogger(__name__)


async def converse(transport: StdioTransport, options: McpOptions) -> None:
    """Serve one client until it leaves or a signal arrives."""
    served = serve_memory(options)
    server = make_server(served, options)
    served.prepare()
    conversation = _Conversation(transport)
    serving = asyncio.ensure_future(conversation.run(server))
    stopped = asyncio.ensure_future(_stop_signal())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in (serving, stopped):
        task.cancel()
    outcomes = await asyncio.gather(serving, stopped, return_exceptions=True)
    conversation.flush()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            _LOG.error("The conversation ended with an error.", exc_info=outcome)
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


class _Conversation:
    """Messages between a client and the SDK."""

    def __init__(self, transport: StdioTransport) -> None:
        self._transport = transport
        self._unsent = 0
        self._has_room = asyncio.Event()
        self._unanswered: set[int | str] = set()
        self._is_quiet = asyncio.Event()
        self._is_gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="mcp-write", daemon=True)

    async def run(self, server: Server[Any]) -> None:
        """Pass messages in both directions until the client leaves."""
        to_server, incoming = anyio.create_memory_object_stream["Incoming"](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        options = server.create_initialization_options()
        serving = asyncio.ensure_future(server.run(incoming, outgoing, options))
        sending = asyncio.ensure_future(self._send(from_server))
        gone = asyncio.ensure_future(self._is_gone.wait())
        self._writer.start()
        threading.Thread(target=self._read, args=(to_server,), name="mcp-read", daemon=True).start()
        try:
            await asyncio.wait({serving, gone}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
                await sending
        finally:
            for task in (serving, sending, gone):
                task.cancel()
            await asyncio.gather(serving, sending, gone, return_exceptions=True)
            to_server.close()

    def flush(self) -> None:
        """Wait until all answers are written, unless the client does not read them."""
        self._outgoing.put(None)
        if self._writer.is_alive():
            self._writer.join(_FLUSH_SECONDS)

    def _read(self, to_server: ToServer) -> None:
        """Pass on each message from the client, in a thread."""
        while (line := self._transport.receive()) is not None:
            if not self._run_in_loop(self._deliver(_parsed(line), to_server)):
                return
        self._run_in_loop(self._end(to_server))

    def _run_in_loop(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run a coroutine in the event loop and wait for it; False if the loop has ended."""
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (RuntimeError, CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            work.close()
            return False
        return True

    async def _deliver(self, message: SessionMessage | _Unreadable, to_server: ToServer) -> None:
        while self._unsent + len(self._unanswered) >= MOST_PENDING:
            self._has_room.clear()
            try:
                async with asyncio.timeout(_LAST_SECONDS):
                    await self._has_room.wait()
            except TimeoutError:
                if self._transport.is_closed():  # nobody will read the answers
                    self._is_gone.set()
        if isinstance(message, _Unreadable):
            self._put(message.answer)
            return
        match message.message:
            case types.JSONRPCRequest(id=request_id):
                self._unanswered.add(request_id)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                self._note_answered((params or {}).get("requestId"))
        await to_server.send(message)

    async def _end(self, to_server: ToServer) -> None:
        """Close the conversation once every request is answered."""
        self._note_answered(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while self._unanswered:
                    self._is_quiet.clear()
                    await self._is_quiet.wait()
        to_server.close()

    async def _send(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for message in from_server:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._put(line.encode())
                self._note_answered(getattr(message.message, "id", None))

    def _put(self, line: bytes) -> None:
        self._unsent += 1
        self._outgoing.put(line)

    def _note_sent(self) -> None:
        self._unsent -= 1
        self._has_room.set()

    def _note_answered(self, request_id: object) -> None:
        if isinstance(request_id, (int, str)):
            self._unanswered.discard(request_id)
            self._has_room.set()
        if not self._unanswered:
            self._is_quiet.set()

    def _write(self) -> None:
        """Write each message of the server, in a thread."""
        while (line := self._outgoing.get()) is not None:
            try:
                self._transport.send(line)
            except OSError:  # the client is gone
                self._tell(self._is_gone.set)
                return
            self._tell(self._note_sent)

    def _tell(self, what: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(what)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A line that is not a valid message, with the error to answer."""

    answer: bytes


def _parsed(line: bytes) -> SessionMessage | _Unreadable:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        pass
    code, text, request_id = types.INVALID_REQUEST, "Invalid request", None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        code, text = types.PARSE_ERROR, "Parse error"
    else:
        given = message.get("id") if isinstance(message, dict) else None
        request_id = given if isinstance(given, (int, str)) else None
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
    return _Unreadable(json.dumps(error).encode())
