"""Connections to a server, which another thread or the clock can cut.

The library's time-outs count from byte to byte, and closing its client does not wake a thread that
waits for bytes: a server that drips or says nothing would be waited for as long as it likes.
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from recollect.errors import ProviderSetupError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

_CONNECT_SECONDS = 10.0
_CLOCK_FIRST_SECONDS = 1.0  # the library's time-outs come after ours, so that one of them decides
_MOST_BYTES = 256 * 1024 * 1024  # no answer of a sane server is as large


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, all of it."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CutError(Exception):
    """The connection was cut: the time is over, or nobody waits any more."""


class OversizeError(Exception):
    """The answer has no end in sight."""


class Connection:
    """Carries one request at a time; only `cut` may be called from another thread."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._socket: socket.socket | None = None
        self._is_cut = False
        self._limit: threading.Timer | None = None
        self._lock = threading.Lock()

    @property
    def is_cut(self) -> bool:
        """True when it can carry nothing more."""
        return self._is_cut

    def exchange(self, request: Request, *, seconds: float) -> Answer:
        """Send a request and return its whole answer, within the time given.

        Raises:
            CutError: the time was over first, or `cut` was called.
            OversizeError: the answer is larger than any sane one.
            httpx.HTTPError, httpx.InvalidURL, UnicodeError: it did not work out.

        """
        limit = threading.Timer(seconds, lambda: self._expire(limit))
        limit.daemon = True
        self._limit = limit
        limit.start()
        try:
            answer = self._exchange(request, seconds=seconds)
        except httpx.HTTPError:
            if self._is_cut:
                raise CutError from None
            raise
        finally:
            limit.cancel()
            with self._lock:
                self._limit = None
        if self._is_cut:  # an answer without a stated length looks whole when it is cut
            raise CutError
        return answer

    def cut(self) -> None:
        """End whatever is under way."""
        with self._lock:
            self._is_cut = True
            self._shut()

    def close(self) -> None:
        """Give the connection back to the system."""
        self._client.close()

    def _exchange(self, request: Request, *, seconds: float) -> Answer:
        with self._client.stream(
            request.method,
            request.url,
            headers=request.headers,
            content=request.content,
            timeout=httpx.Timeout(
                seconds + _CLOCK_FIRST_SECONDS, connect=min(_CONNECT_SECONDS, seconds)
            ),
            extensions={"trace": self._trace},
        ) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise OversizeError
        return Answer(response.status_code, response.headers, bytes(body))

    def _expire(self, limit: threading.Timer) -> None:
        with self._lock:
            if self._limit is limit:  # else the exchange ended in the same moment
                self._is_cut = True
                self._shut()

    def _trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Take note of the socket; encryption wraps it in another one."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._socket = details["return_value"].get_extra_info("socket")
                if self._is_cut:
                    self._shut()

    def _shut(self) -> None:
        if self._socket is None:
            return
        with suppress(OSError):  # it is closed already
            # Past the encryption's own shutdown, which would take the reader's state away.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Connections:
    """As many as are used at once, kept for what comes next. Safe to use from several threads."""

    def __init__(self) -> None:
        self._trust: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._under_way: set[Connection] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Connection]:
        """Return a connection that nobody else uses meanwhile.

        Raises:
            ProviderSetupError: the environment names a proxy or certificates that cannot be used.

        """
        connection = self._take()
        try:
            yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Cut what is under way and close the rest; what is begun later is cut at once."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            under_way = list(self._under_way)
        for connection in under_way:
            connection.cut()  # whoever uses it closes it
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = Connection(self._client())
        with self._lock:
            self._under_way.add(connection)
            is_late = self._is_closed
        if is_late:
            connection.cut()
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            self._under_way.discard(connection)
            is_kept = not connection.is_cut and not self._is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def _client(self) -> httpx.Client:
        try:
            if self._trust is None:
                self._trust = httpx.create_ssl_context()
            # A redirect could carry the key to another host: none is followed.
            return httpx.Client(follow_redirects=False, verify=self._trust)
        except (httpx.InvalidURL, ImportError, ValueError, OSError) as error:
            # The error quotes the proxy's address, and that may hold a password.
            raise ProviderSetupError(
                f"Servers cannot be reached the way the environment says ({type(error).__name__}).",
                action="Correct HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE, or unset them.",
            ) from None
