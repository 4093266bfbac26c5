"""The body of a request: framed in one way only, and whole before any work starts.

Threats. A request whose length can be read in two ways is one request to a proxy and two to us
(request smuggling). A client that never finishes its body would hold a place that others need. So
the first is refused, and the second gets a place only once its body is here, within a deadline.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from recollect.shells.http.errors import RequestError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

    from recollect.shells.http.listen import ServerLimits

_CLOSE = {"Connection": "close"}  # the rest of the body must not be read as the next request
_CHUNKED = b"transfer-encoding"
_CHUNKED_SINCE = "1.1"


class DisconnectedError(Exception):
    """The client disconnected. Never leaves the server's applications."""


def framing_error(scope: Scope) -> RequestError | None:
    """Return why the end of a request's body is ambiguous; None if it is not.

    Lengths that are repeated with other values, or are not numbers, do not get this far: h11
    answers them with 400.
    """
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
    """Return the whole body of a request.

    Raises:
        RequestError: it is too large, or took too long to arrive.
        DisconnectedError: the client left before its end.

    """
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
