"""Connections to a server that another thread or a timer can cut.

httpx's time-outs count from byte to byte, and closing its client does not wake a thread that waits
for bytes. A server that sends slowly or not at all would be waited for indefinitely.
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx

from recollect.errors import ProviderSetupError
from recollect.records import dataclass

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

_CONNECT_SECONDS = 10.0
_MARGIN_SECONDS = 1.0  # httpx's time-outs come later than ours, so that only one of them acts
_MOST_BYTES = 256 * 1024 * 1024  # more than any legitimate response


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to send."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CutError(Exception):
    """The connection was cut: the time was up, or it was closed."""


class OversizeError(Exception):
    """The response is too large."""


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
        """True if it cannot carry another request."""
        return self._is_cut

    def exchange(self, request: HttpRequest, *, seconds: float) -> HttpResponse:
        """Send a request and return its complete response within the time limit.

        Raises:
            CutError: the time was up, or `cut` was called.
            OversizeError: the response is too large.
            httpx.HTTPError, httpx.InvalidURL, UnicodeError: the exchange failed.

        """
        limit = threading.Timer(seconds, lambda: self._expire(limit))
        limit.daemon = True
        self._limit = limit
        limit.start()
        try:
            response = self._exchange(request, seconds=seconds)
        except httpx.HTTPError:
            if self._is_cut:
                raise CutError from None
            raise
        finally:
            limit.cancel()
            with self._lock:
                self._limit = None
        if self._is_cut:  # a response without a stated length looks complete when it is cut
            raise CutError
        return response

    def cut(self) -> None:
        """End the exchange that is in progress."""
        with self._lock:
            self._is_cut = True
            self._shut()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _exchange(self, request: HttpRequest, *, seconds: float) -> HttpResponse:
        with self._client.stream(
            request.method,
            request.url,
            headers=request.headers,
            content=request.content,
            timeout=httpx.Timeout(
                seconds + _MARGIN_SECONDS, connect=min(_CONNECT_SECONDS, seconds)
            ),
            extensions={"trace": self._trace},
        ) as response:
            body = bytearray()
            for part in response.iter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise OversizeError
        return HttpResponse(response.status_code, response.headers, bytes(body))

    def _expire(self, limit: threading.Timer) -> None:
        with self._lock:
            if self._limit is limit:  # else the exchange ended at the same moment
                self._is_cut = True
                self._shut()

    def _trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Remember the socket; TLS wraps it in another one."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._socket = details["return_value"].get_extra_info("socket")
                if self._is_cut:
                    self._shut()

    def _shut(self) -> None:
        if self._socket is None:
            return
        with suppress(OSError):  # it is closed already
            # Not the TLS socket's own shutdown, which would discard the reader's state.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Connections:
    """A pool of connections. Safe to use from several threads."""

    def __init__(self) -> None:
        self._trust: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Connection]:
        """Yield a connection for exclusive use.

        Raises:
            ProviderSetupError: the environment names an unusable proxy or certificate.

        """
        connection = self._take()
        try:
            yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Cut the busy connections and close the rest; later ones are cut at once."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for connection in busy:
            connection.cut()  # its user closes it
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = Connection(self._client())
        with self._lock:
            self._busy.add(connection)
            is_late = self._is_closed
        if is_late:
            connection.cut()
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
            is_reusable = not connection.is_cut and not self._is_closed
            if is_reusable:
                self._idle.append(connection)
        if not is_reusable:
            connection.close()

    def _client(self) -> httpx.Client:
        try:
            if self._trust is None:
                self._trust = httpx.create_ssl_context()
            # Redirects are not followed: they could carry the key to another host.
            return httpx.Client(follow_redirects=False, verify=self._trust)
        except (httpx.InvalidURL, ImportError, ValueError, OSError) as error:
            # Not the error's text: it quotes the proxy's address, which may contain a password.
            raise ProviderSetupError(
                "The proxy or certificate settings in the environment cannot be used "
                f"({type(error).__name__}).",
                action="Correct HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE, or unset them.",
            ) from None
