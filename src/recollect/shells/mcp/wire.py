"""Standard input and output, taken over for the protocol alone.

Whatever else in this program or its children prints goes to stderr, and whatever reads finds the
end of input: one stray line would break the protocol. Reading and writing block, so they belong in
threads; the threads end with the program and hold no lock that could keep it from ending.
"""

from __future__ import annotations

import logging
import os

_LOG = logging.getLogger(__name__)
_READ_BYTES = 65_536
MOST_LINE_BYTES = 16_000_000
"""A longer message is no question to a memory; it is dropped before it fills the machine's own."""


class Wire:
    """One end of a conversation in lines of JSON. Use `Wire.claim`."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._buffer = bytearray()
        self._is_ended = False

    @classmethod
    def claim(cls) -> Wire:
        """Take standard input and output; others get nothing to read, and stderr to write to."""
        wire = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            os.dup2(nothing, 1)
        os.close(nothing)
        return wire

    def receive(self) -> bytes | None:
        """Return the next line that is not empty, waiting for it; None at the end of input."""
        while True:
            line = self._line()
            if line is None or line.strip():
                return line

    def send(self, line: bytes) -> None:
        """Write a line, waiting until the other side has taken it.

        Raises:
            OSError: nobody reads any more.

        """
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[os.write(self._write_fd, rest) :]

    def _line(self) -> bytes | None:
        seen = 0
        is_dropped = False
        while (end := self._buffer.find(b"\n", seen)) < 0:
            if len(self._buffer) > MOST_LINE_BYTES:
                is_dropped = True
                self._buffer.clear()
            seen = len(self._buffer)
            if not self._fill():
                last = bytes(self._buffer)
                self._buffer.clear()
                return last if last and not is_dropped else None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        if is_dropped or len(line) > MOST_LINE_BYTES:
            _LOG.error("A message of more than %d bytes was dropped.", MOST_LINE_BYTES)
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
