"""Serving over standard input and output, from the first message to the last answer.

Standard input and output belong to the protocol alone, since one stray line would break it: other
code in this program and its children writes to stderr and reads nothing.

Two threads read and write, since either may wait for the client forever. They are daemon threads
that hold no lock, so the program can end without them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import queue
import select
import signal
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from recollect.shells.mcp.server import CLOSE_SECONDS, make_server, serve_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel.server import Server

    from recollect.shells.mcp.server import McpOptions

    Incoming = SessionMessage | Exception
    ToServer = MemoryObjectSendStream[Incoming]

MAX_LINE_BYTES = 16_000_000
"""A longer message is dropped before it fills the memory of the machine."""
MOST_PENDING = 256
"""Requests without an answer that the client has read; no more messages are read meanwhile."""
_LAST_SECONDS = 10.0
"""How long an answer may take after the input has ended, as in `printf … | recollect mcp`."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_LOG = logging.getLogger(__name__)


def serve_stdio(options: McpOptions) -> None:
    """Serve until the input ends or a signal arrives."""
    asyncio.run(converse(StdioTransport.claim, options))


async def converse(connect: Callable[[], StdioTransport], options: McpOptions) -> None:
    """Serve one client until it leaves or a signal arrives."""
    stopped = asyncio.ensure_future(_stop_signal())
    await asyncio.sleep(0)  # from here on, signals are handled
    conversation = _Conversation(connect())
    served = serve_memory(options)
    server = make_server(served, options)
    served.prepare()
    serving = asyncio.ensure_future(conversation.run(server))
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in (serving, stopped):
        task.cancel()
    for outcome in await asyncio.gather(serving, stopped, return_exceptions=True):
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


class StdioTransport:
    """Lines of JSON to and from a client. Use `StdioTransport.claim`.

    Reading and writing block, so they belong in threads.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._input = os.fdopen(read_fd, "rb", closefd=False)
        self._write_fd = write_fd

    @classmethod
    def claim(cls) -> StdioTransport:
        """Take over standard input and output; other code gets no input and writes to stderr."""
        transport = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            os.dup2(nothing, 1)
        os.close(nothing)
        return transport

    def receive(self) -> bytes | None:
        """Wait for the next line that is not empty; None at the end of input."""
        is_rest = False
        with contextlib.suppress(OSError):  # the terminal or the pipe is gone
            while line := self._input.readline(MAX_LINE_BYTES):
                is_whole = line.endswith(b"\n") or len(line) < MAX_LINE_BYTES
                if is_whole and not is_rest and line.strip():
                    return line
                if not is_whole and not is_rest:
                    _LOG.error("Dropped a message of more than %d bytes.", MAX_LINE_BYTES)
                is_rest = not is_whole
        return None

    def send(self, line: bytes) -> None:
        """Write a line, waiting until the client has read enough.

        Raises:
            OSError: the client is gone.

        """
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[os.write(self._write_fd, rest) :]

    def is_closed(self) -> bool:
        """Return whether the client has closed its end of the input, read or not."""
        if not hasattr(select, "poll"):  # Windows
            return False
        closing = select.poll()
        closing.register(self._input, 0)  # reports a closed end whatever else is asked for
        return bool(closing.poll(0))


class _Conversation:
    """Messages between a client and the SDK."""

    def __init__(self, transport: StdioTransport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._unanswered: set[int | str] = set()
        self._has_answered = asyncio.Event()
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Event]] = queue.SimpleQueue()
        self._sent = 0
        self._has_ended = False
        self._is_gone = asyncio.Event()

    async def run(self, server: Server[Any]) -> None:
        """Pass messages in both directions until the client leaves."""
        to_server, incoming = anyio.create_memory_object_stream["Incoming"](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        options = server.create_initialization_options()
        serving = asyncio.ensure_future(server.run(incoming, outgoing, options))
        sending = asyncio.ensure_future(self._send_all(from_server))
        leaving = asyncio.ensure_future(self._wait_for_leaving())
        threading.Thread(target=self._write, name="mcp-write", daemon=True).start()
        threading.Thread(target=self._read, args=(to_server,), name="mcp-read", daemon=True).start()
        try:
            await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
                await sending
        finally:
            for task in (serving, sending, leaving):
                task.cancel()
            await asyncio.gather(serving, sending, leaving, return_exceptions=True)
            to_server.close()

    async def _wait_for_leaving(self) -> None:
        """Wait until the client is gone, or has left and reads nothing any more."""
        while not self._is_gone.is_set():
            sent = self._sent
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await self._is_gone.wait()
            if sent == self._sent and (self._has_ended or self._transport.is_closed()):
                return

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

    async def _deliver(self, message: SessionMessage | bytes, to_server: ToServer) -> None:
        await self._wait_for_fewer(MOST_PENDING)
        if isinstance(message, bytes):
            await self._send(message)
            return
        match message.message:
            case types.JSONRPCRequest(id=request_id):
                self._unanswered.add(request_id)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                self._note_answered((params or {}).get("requestId"))
        await to_server.send(message)

    async def _end(self, to_server: ToServer) -> None:
        """Close the conversation once every request is answered."""
        self._has_ended = True
        await self._wait_for_fewer(1)
        to_server.close()

    async def _wait_for_fewer(self, count: int) -> None:
        """Wait until fewer requests than this are without an answer."""
        while len(self._unanswered) >= count:
            self._has_answered.clear()
            await self._has_answered.wait()

    def _note_answered(self, request_id: object) -> None:
        if isinstance(request_id, (int, str)):
            self._unanswered.discard(request_id)
            self._has_answered.set()

    async def _send_all(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for message in from_server:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._send(line.encode())
                self._note_answered(getattr(message.message, "id", None))

    async def _send(self, line: bytes) -> None:
        """Write a line, and wait until it is written."""
        written = asyncio.Event()
        self._outgoing.put((line, written))
        await written.wait()
        self._sent += 1

    def _write(self) -> None:
        """Write each message of the server, in a thread."""
        while True:
            line, written = self._outgoing.get()
            try:
                self._transport.send(line)
            except OSError:  # the client is gone
                written = self._is_gone
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(written.set)


def _parsed(line: bytes) -> SessionMessage | bytes:
    """Return a message, or what to answer to a line that is not one."""
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
    return json.dumps(error).encode()
