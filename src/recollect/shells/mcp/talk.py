"""A conversation over a wire, from the first message that the SDK sees to the last answer.

Two threads read and write, since both may wait for the other side forever. They end with the
program, and nothing waits for them.
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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from recollect.shells.mcp.server import CLOSE_SECONDS, make_server, serve_memory

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel.server import Server

    from recollect.shells.mcp.offer import Offer
    from recollect.shells.mcp.wire import Wire

    Incoming = SessionMessage | Exception
    ToServer = MemoryObjectSendStream[Incoming]

_LAST_SECONDS = 10.0
"""How long answers may take after the input has ended: `printf … | recollect mcp` gets its own."""
_FLUSH_SECONDS = 2.0
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_LOG = logging.getLogger(__name__)


async def talk(
    wire: Wire, offer: Offer, *, lines: Sequence[bytes], left_out: int | str | None
) -> None:
    """Serve one client until it leaves or a signal comes.

    Args:
        wire: to the client.
        offer: what is served.
        lines: that were read already.
        left_out: id of a request that was answered already; the SDK's answer is not sent.

    """
    live = serve_memory(offer)
    server = make_server(live, offer)
    live.prepare()
    conversation = _Conversation(wire, left_out=left_out)
    serving = asyncio.ensure_future(conversation.run(server, lines))
    stopped = asyncio.ensure_future(_signal())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in (serving, stopped):
        task.cancel()
    outcomes = await asyncio.gather(serving, stopped, return_exceptions=True)
    conversation.flush()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            _LOG.error("The conversation ended with an error.", exc_info=outcome)
    await live.close_or_exit(seconds=CLOSE_SECONDS, exit_code=0)


async def _signal() -> None:
    """Return when the program is asked to stop."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, asked.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(asked.set))
    await asked.wait()


class _Conversation:
    """Messages between a wire and the SDK."""

    def __init__(self, wire: Wire, *, left_out: int | str | None) -> None:
        self._wire = wire
        self._left_out = left_out
        self._unanswered: set[int | str] = set()
        self._is_quiet = asyncio.Event()
        self._is_gone = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="mcp-write", daemon=True)

    async def run(self, server: Server[Any], lines: Sequence[bytes]) -> None:
        """Carry messages to and fro until the client leaves."""
        to_server, incoming = anyio.create_memory_object_stream["Incoming"](0)
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        options = server.create_initialization_options()
        serving = asyncio.ensure_future(server.run(incoming, outgoing, options))
        sending = asyncio.ensure_future(self._send(from_server))
        gone = asyncio.ensure_future(self._is_gone.wait())
        self._writer.start()
        threading.Thread(
            target=self._read, args=(lines, to_server), name="mcp-read", daemon=True
        ).start()
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
        """Wait until what was said is written, unless nobody takes it."""
        self._outgoing.put(None)
        if self._writer.is_alive():
            self._writer.join(_FLUSH_SECONDS)

    def _read(self, lines: Sequence[bytes], to_server: ToServer) -> None:
        """Pass everything on that the client says, in a thread."""
        waiting = iter(lines)
        while (line := next(waiting, None) or self._wire.receive()) is not None:
            message = _parsed(line)
            passing = self._deliver(message, to_server)
            if not self._is_done(passing):
                return
        self._is_done(self._end(to_server))

    def _is_done(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do something in the loop and wait for it; False when the loop is not there any more."""
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (RuntimeError, CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            work.close()
            return False
        return True

    async def _deliver(self, message: SessionMessage | _Unreadable, to_server: ToServer) -> None:
        if isinstance(message, _Unreadable):
            self._outgoing.put(message.answer)
            return
        match message.message:
            case types.JSONRPCRequest(id=asked):
                self._unanswered.add(asked)
            case types.JSONRPCNotification(method="notifications/cancelled", params=params):
                self._answered((params or {}).get("requestId"))
        await to_server.send(message)

    async def _end(self, to_server: ToServer) -> None:
        """Close the conversation when all that was asked is answered."""
        self._answered(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while self._unanswered:
                    self._is_quiet.clear()
                    await self._is_quiet.wait()
        to_server.close()

    async def _send(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for message in from_server:
                answered = getattr(message.message, "id", None)
                self._answered(answered)
                if answered is not None and answered == self._left_out:
                    self._left_out = None
                    if isinstance(message.message, types.JSONRPCResponse):
                        continue
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._outgoing.put(line.encode())

    def _answered(self, asked: object) -> None:
        if isinstance(asked, (int, str)):
            self._unanswered.discard(asked)
        if not self._unanswered:
            self._is_quiet.set()

    def _write(self) -> None:
        """Send everything the server says, in a thread."""
        while (line := self._outgoing.get()) is not None:
            try:
                self._wire.send(line)
            except OSError:  # the client has gone without a word
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._is_gone.set)
                return


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A line that is no message, with what is to be said to it."""

    answer: bytes


def _parsed(line: bytes) -> SessionMessage | _Unreadable:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        pass
    code, said, asked = types.INVALID_REQUEST, "Invalid request", None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        code, said = types.PARSE_ERROR, "Parse error"
    else:
        named = message.get("id") if isinstance(message, dict) else None
        asked = named if isinstance(named, (int, str)) else None
    error = {"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": said}}
    return _Unreadable(json.dumps(error).encode())
