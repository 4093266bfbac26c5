"""How much one request, and all of them, may take of a server."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.shells.http.refuse import RequestError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what a server does for its clients."""

    body_bytes: int = 256 * 1024
    """A fact or a question is far smaller."""
    address_bytes: int = 56 * 1024
    """Path and query together; the head of a request may have 64 KiB."""
    under_way: int = 64
    """Requests that are worked on or wait: more would wait for longer than anyone does."""
    seconds: float = 60.0
    """That a request may take; the first search may have to load a model."""
    head_seconds: float = 10.0
    """That a client may take to send the head of a request."""
    connections: int = 512
    """Open at once."""
    leave_seconds: float = 10.0
    """That requests under way may take to end when the server stops."""


def check_address(path: bytes, query: bytes, *, most: int) -> None:
    """Refuse an address that is too long.

    Raises:
        RequestError: it is.

    """
    if len(path) + len(query) > most:
        raise RequestError(
            414,
            "address",
            f"The address has more than {most} bytes.",
            action="Ask for less at once.",
        )


def too_many() -> RequestError:
    """Return the refusal of one request more than there is room for."""
    return RequestError(
        429,
        "busy",
        "Too many requests are under way.",
        action="Try again in a second.",
        headers={"Retry-After": "1"},
    )


def too_large(most: int) -> RequestError:
    """Return the refusal of a body that is too large."""
    return RequestError(
        413,
        "body",
        f"The body has more than {most} bytes.",
        action="Send less at once.",
        headers={"Connection": "close"},
    )


def too_slow(seconds: float) -> RequestError:
    """Return the refusal of what took too long."""
    return RequestError(
        503,
        "time",
        f"It took more than {seconds:g} seconds.",
        action="Try again in a while: what has begun goes on, such as the first reading of files.",
        headers={"Retry-After": "5"},
    )
