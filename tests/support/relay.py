"""A relay to a PostgreSQL server of this machine that counts round trips, and may delay each.

A round trip is a message of the client that the server answers: bytes to the server after bytes
from it. What a client sends without waiting in between counts once.
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
_PORT = 5432


class Relay:
    """Passes bytes on between clients and one server."""

    def __init__(self, address: str, *, delay_seconds: float = 0.0) -> None:
        self.round_trips = 0
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
        answered = threading.Event()
        answered.set()

        def answers() -> None:
            with contextlib.suppress(OSError):
                while part := server.recv(_MOST_BYTES):
                    answered.set()
                    client.sendall(part)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=answers, daemon=True).start()
        with client, server, contextlib.suppress(OSError):
            while part := client.recv(_MOST_BYTES):
                if answered.is_set():
                    answered.clear()
                    self.round_trips += 1
                    time.sleep(self.delay_seconds)
                server.sendall(part)

    def close(self) -> None:
        """Accept no more clients."""
        self._listener.close()


@contextlib.contextmanager
def relaying(address: str, *, delay_seconds: float = 0.0) -> Iterator[Relay]:
    """Run a relay."""
    relay = Relay(address, delay_seconds=delay_seconds)
    try:
        yield relay
    finally:
        relay.close()
