"""A listening socket and a uvicorn server on it, with limits that uvicorn does not have.

Threats. A request whose length can be read in two ways is one request to a proxy and two to us
(request smuggling). A client that never finishes its body would hold a place that others need. So
the first is refused, and the second gets a place only once its body is here, within a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from typing import TYPE_CHECKING, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.errors import UsageError
from recollect.records import dataclass
from recollect.shells.guard import WILDCARDS
from recollect.shells.http.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from starlette.types import ASGIApp, Message, Receive, Scope
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How much a server does for its clients."""

    body_bytes: int = 256 * 1024
    """Bytes of one request; facts and questions are far smaller."""
    requests: int = 64
    """Requests in progress, including those that wait; more would wait too long."""
    seconds: float = 60.0
    """How long a request may take; the first search may have to load a model."""
    header_seconds: float = 10.0
    """How long a client may take to send request headers."""
    body_seconds: float = 10.0
    """How long a client may take to send the body of a request."""
    connections: int = 512
    stop_seconds: float = 10.0
    """How long requests in progress may take when the server stops."""


class LimitedProtocol(H11Protocol):
    """Closes connections beyond the limit, and those whose request headers take too long."""

    limits = ServerLimits()
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as in uvicorn
        self, transport: asyncio.Transport
    ) -> None:
        """Accept the connection if there are not too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
        else:
            self._start_deadline()

    def handle_events(self) -> None:
        """Read what arrived; the deadline stays until the headers are complete."""
        super().handle_events()
        if self._is_idle:
            self._start_deadline()
        else:
            self._stop_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if self._is_idle and not self.transport.is_closing():
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_deadline()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is in progress."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.header_seconds, self._abort)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self._deadline = None
        if self._is_idle:
            self.transport.abort()


class Server(uvicorn.Server):
    """A uvicorn server that returns after a signal, so that the command ends like any other."""

    def __init__(
        self, app: ASGIApp, limits: ServerLimits, *, lifespan: Literal["on", "off"] = "off"
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                # uvicorn makes one instance of the class per connection.
                http=type("LimitedProtocol", (LimitedProtocol,), {"limits": limits}),
                ws="none",
                lifespan=lifespan,
                log_config=None,  # requests are not logged: questions are private
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=round(limits.stop_seconds),
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully; a second signal stops at once."""
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Bind and listen: from here on, clients that connect wait instead of failing."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address, family=family, backlog=_BACKLOG)
        # Else the end of each answer waits 40 ms: asyncio sets it where it made the socket itself.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be bound: {error}"
        raise UsageError(
            f"{host}:{port} {why}.",
            action="Choose another one with --port or --http; port 0 takes any free one.",
        ) from error
    with listener:
        yield listener


def address_of(host: str, port: int) -> str:
    """Return the URL of a server as opened from this machine, without a path."""
    if host in WILDCARDS:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_CLOSE = {"Connection": "close"}  # the rest of the body must not be read as the next request
_CHUNKED = b"transfer-encoding"
_CHUNKED_SINCE = "1.1"


class DisconnectedError(Exception):
    """The client disconnected. Never leaves the server's applications."""


def framing_error(scope: Scope) -> RequestError | None:
    """Return why the end of a request's body is ambiguous; h11 refuses other wrong lengths."""
    names = {name for name, _ in scope["headers"]}
    if _CHUNKED not in names:
        return None
    if b"content-length" not in names and scope["http_version"] == _CHUNKED_SINCE:
        return None
    return RequestError(
        400,
        "framing",
        "The length of the body is stated in two ways.",
        action="Send either Content-Length or, with HTTP/1.1, Transfer-Encoding.",
        headers=_CLOSE,
    )


async def read_body(receive: Receive, *, limits: ServerLimits) -> bytes:
    """Return the whole body of a request, or raise DisconnectedError if the client left."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _whole(receive, most_bytes=limits.body_bytes)
    except TimeoutError:
        raise RequestError(
            408,
            "slow",
            f"The body did not arrive within {limits.body_seconds:g} seconds.",
            action="Send the request again.",
            headers=_CLOSE,
        ) from None


async def _whole(receive: Receive, *, most_bytes: int) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        parts += message.get("body", b"")
        if len(parts) > most_bytes:
            raise RequestError(
                413,
                "body",
                f"The body is larger than {most_bytes} bytes.",
                action="Send less at once.",
                headers=_CLOSE,
            )
        if not message.get("more_body", False):
            return bytes(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return where an application receives a body that was read, and then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again
