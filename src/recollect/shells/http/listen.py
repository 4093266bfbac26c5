"""Listening: a socket, and a server on it that stops on a signal and returns."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from typing import TYPE_CHECKING, Literal

import uvicorn

from recollect.errors import UsageError
from recollect.shells.guard import WILDCARDS
from recollect.shells.http.protocol import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from starlette.types import ASGIApp

    from recollect.shells.http.limits import Limits

_BACKLOG = 128


class Server(uvicorn.Server):
    """Stops on a signal and returns, so that the command ends as any other."""

    def __init__(
        self, app: ASGIApp, limits: Limits, *, lifespan: Literal["on", "off"] = "off"
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded(limits),
                ws="none",
                lifespan=lifespan,
                log_config=None,  # nothing is logged of a request: questions are private
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=round(limits.leave_seconds),
            )
        )
        self.limits = limits

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; told twice, at once."""
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


@contextlib.contextmanager
def bound(host: str, port: int, *, options: str) -> Iterator[socket.socket]:
    """Bind and listen: from here on whoever connects waits for the answer instead of failing.

    Args:
        host: empty is every address.
        port: 0 is any that is free.
        options: of the command line that name another, for the error.

    Raises:
        UsageError: it cannot be bound there.

    """
    listener: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere it would share a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise _unbound(error, host, port, options=options) from error
    with listener:
        yield listener


def address_of(host: str, port: int) -> str:
    """Return where a server is asked from this machine, without a path."""
    if host in WILDCARDS:
        host = "127.0.0.1"  # that of every address which can be opened here
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _unbound(error: OSError, host: str, port: int, *, options: str) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"Port {port} of {host} is in use.",
            action=f"Stop what uses it, or choose another with {options}; port 0 is any free one.",
        )
    if error.errno == errno.EACCES:
        return UsageError(
            f"Port {port} may not be used by you.",
            action=f"Choose one above 1023 with {options}.",
        )
    return UsageError(
        f"{host}:{port} cannot be bound: {error.strerror}.",
        action=f"Name an address of this machine with {options}.",
    )
