"""The resident process: runs commands of its owner with what is loaded, one after the other.

A command runs as it would in a process of its own: with the client's arguments, variables, folder,
umask and terminal. Its output is sent when it has ended. A client that gets no answer runs the
command itself, so whatever cannot be answered alike is not answered.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

from recollect.errors import StoreError
from recollect.records import dataclass
from recollect.shells.cli import ABANDONED, perform
from recollect.shells.resident import wire
from recollect.shells.resident.memories import OpenMemories
from recollect.text.files import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer

_REQUEST_SECONDS = 1.0  # a client sends its request at once
_ANSWER_SECONDS = 5.0  # a client takes its answer at once
_WAITING = 16  # clients that may wait for their turn; each gives up after a moment
_INSTALLATION = slice(4)
"""The part of an identity that tells version, interpreter and code."""
_CODE = 2


def serve(*, idle_seconds: float) -> None:
    """Answer commands until idle for this long; return at once if another process does.

    Raises:
        StoreError: other users may enter the folder of the socket.

    """
    address = wire.address_of(os.environ)
    if address is None:
        return
    folder = Path(address).parent
    make_private_folder(folder)
    if not wire.is_private(str(folder)):
        raise StoreError(
            f"{folder} belongs to another user, or is open to them.",
            action="Delete it; it is created again.",
        )
    with _only_one(folder / "lock") as is_only, contextlib.ExitStack() as stack:
        if not is_only:
            return
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        Path(address).unlink(missing_ok=True)  # of a process that was killed
        with _umask(0o177):
            listening.bind(address)
        stack.callback(Path(address).unlink, missing_ok=True)
        listening.listen(_WAITING)
        resident = stack.enter_context(_Resident(idle_seconds))
        with contextlib.suppress(TimeoutError):
            while resident.is_wanted:
                listening.settimeout(resident.idle_seconds)
                connection, _ = listening.accept()
                with connection:
                    resident.answer(connection)


@dataclass(frozen=True, slots=True)
class _Request:
    arguments: list[str]
    environ: dict[str, str]
    folder: str
    umask: int
    terminals: list[bool]
    """Whether stdin, stdout and stderr are terminals."""
    encodings: list[str]
    content: bytes
    """What is on standard input."""


class _Resident:
    """Runs the commands of clients."""

    def __init__(self, idle_seconds: float) -> None:
        self.is_wanted = True
        self._identity = wire.identity(os.environ)
        self._memories = OpenMemories(idle_seconds=idle_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memories.close()

    @property
    def idle_seconds(self) -> float:
        """How long to wait for the next command."""
        return self._memories.idle_seconds

    def answer(self, connection: socket.socket) -> None:
        """Run a client's command and send what it printed; or nothing."""
        connection.settimeout(_REQUEST_SECONDS)
        with contextlib.suppress(OSError, wire.WireError):
            request = self._request(connection)
            if request is None:
                return
            output: list[bytes] = []
            with _standing_in(request, output):
                connection.sendall(wire.ACCEPTED)  # fails if the client has given up
                code = self._run(request.arguments)
                sys.stdout.flush()
                sys.stderr.flush()
            if code is None:
                return
            left_at_work = code == ABANDONED
            output.append(wire.frame(wire.ENDED, b"%d" % (0 if left_at_work else code)))
            connection.settimeout(_ANSWER_SECONDS)
            connection.sendall(b"".join(output))
            if left_at_work:
                os._exit(0)  # a thread still uses the client's folder, variables and memory
        self.is_wanted = self.is_wanted and self.idle_seconds > 0

    def _request(self, connection: socket.socket) -> _Request | None:
        """Return the request of a client that this process may stand in for."""
        if not _is_own(connection):
            return None
        size = int.from_bytes(_receive(connection, wire.SIZE_BYTES), "big")
        if size > wire.MAX_REQUEST_BYTES:
            return None
        content = _receive(connection, size)
        start = wire.SIZE_BYTES
        end = start + int.from_bytes(content[:start], "big")
        identity, arguments, variables, around, terminals, encodings = wire.unpack(
            content[start:end], 6
        )
        if identity != self._identity:
            is_newer = identity[_INSTALLATION] != self._identity[_INSTALLATION]
            is_same_place = identity[_CODE : _CODE + 1] == self._identity[_CODE : _CODE + 1]
            self.is_wanted = not (is_newer and is_same_place)  # this code was replaced
            return None
        folder, umask = around
        return _Request(
            arguments,
            dict(each.split("=", 1) for each in variables),
            folder,
            int(umask),
            [each == "1" for each in terminals],
            encodings,
            content[end:],
        )

    def _run(self, arguments: list[str]) -> int | None:
        """Run a command; return None if it ended in a way that only its own process can show."""
        try:
            return perform(arguments, memories=self._memories)
        except Exception:  # noqa: BLE001 - the client meets it, too, and shows it
            self._memories.close()
            return None


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[bool]:
    """Hold a lock while the block runs; yield False if another process holds it."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def _standing_in(request: _Request, output: list[bytes]) -> Iterator[None]:
    """Be the client's process while the block runs: its folder, variables, umask and streams.

    Raises:
        OSError: there is no such folder any more.

    """
    environ, streams = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    replaced = []  # a stream that the command replaces would close what is below both
    stdin, stdout, stderr = [each.partition(":") for each in request.encodings]
    os.chdir(request.folder)
    try:
        os.environ.clear()
        os.environ.update(request.environ)
        sys.stdin = io.TextIOWrapper(
            _Given(request.content, is_terminal=request.terminals[0]),
            encoding=stdin[0],
            errors=stdin[2],
        )
        for name, kind, encoding, is_terminal in (
            ("stdout", wire.STDOUT, stdout, request.terminals[1]),
            ("stderr", wire.STDERR, stderr, request.terminals[2]),
        ):
            captured = io.BufferedWriter(_Captured(kind, output, is_terminal=is_terminal))
            wrapped = io.TextIOWrapper(
                captured,
                encoding=encoding[0],
                errors=encoding[2],
                line_buffering=is_terminal or kind == wire.STDERR,
            )
            setattr(sys, name, wrapped)
            replaced.append(wrapped)
        with _umask(request.umask):
            yield
    finally:
        os.environ.clear()
        os.environ.update(environ)
        sys.stdin, sys.stdout, sys.stderr = streams
        os.chdir("/")  # the client's folder may be deleted or unmounted


class _Given(io.BytesIO):
    """What is on the client's standard input."""

    def __init__(self, content: bytes, *, is_terminal: bool) -> None:
        super().__init__(content)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class _Captured(io.RawIOBase):
    """Collects the output of a command."""

    def __init__(self, kind: bytes, output: list[bytes], *, is_terminal: bool) -> None:
        self._kind, self._output, self._is_terminal = kind, output, is_terminal

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, content: ReadableBuffer, /) -> int:
        written = bytes(content)
        self._output.append(wire.frame(self._kind, written))
        return len(written)


def _is_own(connection: socket.socket) -> bool:
    """Return whether the client runs as this user; where the system does not tell, files do."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, 12)  # pid, uid, gid
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def _receive(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = connection.recv(size - len(content))
        if not piece:
            raise wire.WireError("the request is cut off")
        content += piece
    return content
