"""A relay to a PostgreSQL server of this machine that counts round trips, and may delay each.

A round trip is a message of the client that makes the server send what it has: a plain query, or
the end of what was sent together. Messages are counted, not moments at which bytes go to and fro,
so that a busy machine counts the same.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BYTES = 1 << 16
_LENGTH_BYTES = 4
_ASKED_AND_ANSWERED = frozenset(b"Qp")  # a plain query, a password
_ANSWERED = frozenset(b"SH")  # the end of what was sent together: sync, flush
_REQUESTS_BEFORE_START = [code.to_bytes(4, "big") for code in (80877103, 80877104)]  # TLS, GSS
_PORT = 5432


class Relay:
    """Passes bytes on between clients and one server."""

    def __init__(self, address: str, *, delay_seconds: float = 0.0) -> None:
        self.round_trips = 0
        self.answered_bytes = 0
        """What the server has sent."""
        self.delay_seconds = delay_seconds
        parts = psycopg.conninfo.conninfo_to_dict(address)
        self._host, self._port = str(parts["host"]), int(parts.get("port") or _PORT)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.address = psycopg.conninfo.make_conninfo(address, host="127.0.0.1", port=port)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = self._connected()
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _connected(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return server

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        def answers() -> None:
            with contextlib.suppress(OSError):
                while part := server.recv(_MOST_BYTES):
                    self.answered_bytes += len(part)
                    client.sendall(part)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=answers, daemon=True).start()
        messages = _Messages()
        with client, server, contextlib.suppress(OSError):
            while part := client.recv(_MOST_BYTES):
                if answered := messages.answered(part):
                    self.round_trips += answered
                    time.sleep(answered * self.delay_seconds)
                server.sendall(part)

    def close(self) -> None:
        """Accept no more clients."""
        self._listener.close()


class _Messages:
    """Cuts what one client sends into messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_started = False
        self._is_asked = False  # something that waits for the end of what is sent together

    def answered(self, part: bytes) -> int:
        """Return how many of the messages that end in this part the server answers at once."""
        self._rest += part
        count = 0
        while True:
            kind_bytes = int(self._is_started)  # what starts a connection has no kind
            head_bytes = kind_bytes + _LENGTH_BYTES
            size = kind_bytes + int.from_bytes(self._rest[kind_bytes:head_bytes], "big")
            if len(self._rest) < max(size, head_bytes):
                return count
            message, self._rest = self._rest[:size], self._rest[size:]
            if not self._is_started:
                count += 1
                self._is_started = message[head_bytes:] not in _REQUESTS_BEFORE_START
            elif message[0] in _ASKED_AND_ANSWERED:
                count += 1
            elif message[0] in _ANSWERED:
                count += self._is_asked
                self._is_asked = False
            else:
                self._is_asked = True


@contextlib.contextmanager
def relaying(address: str, *, delay_seconds: float = 0.0) -> Iterator[Relay]:
    """Run a relay."""
    relay = Relay(address, delay_seconds=delay_seconds)
    try:
        yield relay
    finally:
        relay.close()
