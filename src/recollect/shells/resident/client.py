"""Hands a command to the resident process, if one can run it in place of this process.

Imports next to nothing: this is all that such a command loads. Nothing is printed before the whole
answer is here, so that whatever goes wrong, this process can still run the command itself.
"""

from __future__ import annotations

import io
import os
import sys

from recollect.shells.resident import wire

TYPE_CHECKING = False  # the module `typing` is slow to load
if TYPE_CHECKING:
    from _socket import socket

_CONNECT_SECONDS = 0.25
"""How long a resident process may take to accept; after that it is busy or hangs."""
_ANSWER_SECONDS = 5.0
_INTERRUPTED = 130


def ask_resident(arguments: list[str]) -> int | None:
    """Let the resident process run a command; return its exit code, or None if it did not."""
    if not arguments or arguments[0] not in wire.COMMANDS:
        return None
    address = wire.address_of(os.environ)
    if address is None or not wire.is_private(os.path.dirname(address)):  # noqa: PTH120
        return None
    try:
        answer = _ask(address, arguments)
    except KeyboardInterrupt:
        os.write(2, b"\nInterrupted.\n")  # as the command line says it
        return _INTERRUPTED
    except (OSError, ImportError, wire.WireError):
        return None
    return _print(answer)


def _ask(address: str, arguments: list[str]) -> list[tuple[bytes, bytes]]:
    """Return the frames of the answer.

    Raises:
        OSError: there is no resident process, or it does not answer in time.
        WireError: it must not run this command, or ended meanwhile.

    """
    # Not `socket`, which takes longer to load than everything else here.
    import _socket  # noqa: PLC0415

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_SECONDS)
        connection.connect(address)
        connection.sendall(_request(arguments))
        if connection.recv(1) != wire.ACCEPTED:
            raise wire.WireError("another process has to run it")
        connection.settimeout(_ANSWER_SECONDS)
        return _read_answer(connection)
    finally:
        connection.close()


def _request(arguments: list[str]) -> bytes:
    """Return the command as bytes.

    Raises:
        WireError: only this process can run it.

    """
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None for stream in streams):
        raise wire.WireError("a stream is closed")
    umask = os.umask(0o077)
    os.umask(umask)
    environ = dict(os.environ)
    terminals = [str(int(stream.isatty())) for stream in streams]
    if "1" in terminals[1:] and "COLUMNS" not in environ:
        size = os.get_terminal_size(1 if terminals[1] == "1" else 2)
        if size.columns:  # else it does not know either
            environ |= {"COLUMNS": str(size.columns), "LINES": str(size.lines)}
    variables = [f"{name}={value}" for name, value in environ.items()]
    encodings = [f"{stream.encoding}:{stream.errors}" for stream in streams]
    around = [os.getcwd(), str(umask)]  # noqa: PTH109
    parts = (wire.identity(os.environ), arguments, variables, around, terminals, encodings)
    packed = wire.pack(parts)
    content = _read_event() if arguments[0] == "hook" else b""
    if content is None or len(packed) + len(content) > wire.MAX_REQUEST_BYTES:
        raise wire.WireError("it is too long")
    return wire.sized(wire.sized(packed) + content)


def _read_event() -> bytes | None:
    """Return what the agent sent to a hook; None if it is too long, or does not end in time.

    Either way it can be read again, by this process.
    """
    from select import select  # noqa: PLC0415 - for hooks only

    content, is_complete = b"", sys.stdin.isatty()
    while not is_complete and len(content) <= wire.MAX_REQUEST_BYTES:
        if not select([0], [], [], _CONNECT_SECONDS)[0]:
            break
        piece = os.read(0, 1 << 16)
        is_complete = not piece
        content += piece
    if content:
        again = io.BufferedReader(_Unread(content))
        sys.stdin = io.TextIOWrapper(again, encoding=sys.stdin.encoding, errors=sys.stdin.errors)
    return content if is_complete else None


class _Unread(io.RawIOBase):
    """Standard input, with what was already read of it in front."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._content[: len(buffer)] or os.read(0, len(buffer))
        self._content = self._content[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _read_answer(connection: socket) -> list[tuple[bytes, bytes]]:
    """Return the frames of an answer.

    Raises:
        WireError: the answer is not complete.

    """
    content = b""
    while len(content) <= wire.MAX_ANSWER_BYTES and (piece := connection.recv(1 << 16)):
        content += piece
    return wire.frames(content)


def _print(answer: list[tuple[bytes, bytes]]) -> int:
    """Print the output of the command, in its order; return its exit code."""
    *output, (_, code) = answer
    for kind, content in output:
        stream = sys.stdout if kind == wire.STDOUT else sys.stderr
        try:
            stream.buffer.write(content)
            stream.flush()
        except OSError:  # a closed pipe, a full disk: ends a command with 1, without a word
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            return 1
    return int(code)
