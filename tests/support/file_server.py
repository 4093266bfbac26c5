"""A server of files on loopback, which can also redirect or never stop sending."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    import pytest


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        del arguments


def serving(
    root: Path, context: ssl.SSLContext | None = None
) -> contextlib.AbstractContextManager[int]:
    """Serve a folder on loopback, and yield the port."""
    return answering(partial(QuietHandler, directory=root), context)


@contextlib.contextmanager
def answering(
    handler: Callable[..., BaseHTTPRequestHandler], context: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Answer requests on loopback with a handler, and yield the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def redirect(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Let the hub redirect everything to one place, or to where it was asked if it is empty."""

    def answer(self: QuietHandler) -> None:
        self.send_response(302)
        self.send_header("Location", place or self.path)
        self.end_headers()

    monkeypatch.setattr(QuietHandler, "do_GET", answer)


def endless(monkeypatch: pytest.MonkeyPatch, only: str = "") -> list[int]:
    """Let the server send a file, or every file, without an end; return what it sends."""
    sent: list[int] = []
    serve = QuietHandler.do_GET

    def answer(self: QuietHandler) -> None:
        if only and self.path != only:
            serve(self)
            return
        self.send_response(200)  # without a length: the answer ends with the connection
        self.end_headers()
        with contextlib.suppress(OSError):  # the client has left
            while sum(sent) < 1 << 28:
                sent.append(self.wfile.write(b"x" * (1 << 20)))

    monkeypatch.setattr(QuietHandler, "do_GET", answer)
    return sent
