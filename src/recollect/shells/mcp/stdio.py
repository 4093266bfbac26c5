"""Serving over standard input and output.

Standard input and output belong to the protocol alone, since one stray line would break it: other
code in this program and its children writes to stderr and reads nothing.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.shells.mcp.options import McpOptions

_LOG = logging.getLogger(__name__)
_READ_BYTES = 65_536
MAX_LINE_BYTES = 16_000_000
"""A longer message is dropped before it fills the memory of the machine."""


def serve_stdio(options: McpOptions) -> None:
    """Serve until the input ends or a signal arrives."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)  # until the conversation handles them
    transport = StdioTransport.claim()
    # Loading creates many objects that stay: collecting garbage meanwhile finds none.
    gc.disable()
    import asyncio  # noqa: PLC0415 - like what follows, takes half a second

    from recollect.shells.mcp.conversation import converse  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    asyncio.run(converse(transport, options))


def _exit(_number: int, _frame: object) -> None:
    sys.exit(0)  # nothing is open yet


class StdioTransport:
    """Lines of JSON to and from a client. Use `StdioTransport.claim`.

    Reading and writing block, so they belong in threads.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = bytearray()
        self._is_ended = False

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
        while True:
            line = self._line()
            if line is None or line.strip():
                return line

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
        closing.register(self._read_fd, 0)  # reports a closed end whatever else is asked for
        return bool(closing.poll(0))

    def _line(self) -> bytes | None:
        seen = 0
        is_dropped = False
        while (end := self._buffer.find(b"\n", seen)) < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                is_dropped = True
                self._buffer.clear()
            seen = len(self._buffer)
            if not self._fill():
                last = bytes(self._buffer)
                self._buffer.clear()
                return last if last and not is_dropped else None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        if is_dropped or len(line) > MAX_LINE_BYTES:
            _LOG.error("Dropped a message of more than %d bytes.", MAX_LINE_BYTES)
            return b""
        return line

    def _fill(self) -> bool:
        if not self._is_ended:
            try:
                chunk = os.read(self._read_fd, _READ_BYTES)
            except OSError:  # the terminal or the pipe is gone
                chunk = b""
            self._buffer += chunk
            self._is_ended = not chunk
        return not self._is_ended
