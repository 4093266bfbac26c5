"""A vendor on loopback: answers as its wire format says, fails as its script says, counts all.

What a vendor embeds here is a bag of words: texts that share words are near each other, so a
search through it means something.
"""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    import numpy.typing as npt

    Fault = Callable[["Exchange"], None]
    """Answers in the vendor's place."""


class VendorFormat(Protocol):
    """How one vendor words its answers; see the files beside this."""

    def texts(self, request: Request) -> list[str]:
        """Return the texts a request asks vectors for."""

    def dimensions(self, request: Request) -> int:
        """Return how long the vectors asked for are."""

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        """Return the JSON of a good answer."""

    def error(self, status: int, message: str) -> object:
        """Return the JSON of a refusal."""

    def is_authorised(self, request: Request, key: str | None) -> bool:
        """Tell whether the request carries the key."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, object]:
        parsed: dict[str, object] = json.loads(self.raw) if self.raw else {}
        return parsed


@lru_cache(maxsize=100_000)
def _word(word: str, dimensions: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(dimensions)


def bag_of_words(text: str, dimensions: int, *, model: str = "") -> list[float]:
    """Return the sum of the words' own random vectors: not of unit length, as some vendors'.

    Another model has other vectors for the same words: a space of its own.
    """
    words = re.findall(r"\w+", text.lower()) or ["nothing"]
    total = np.sum([_word(model + word, dimensions) for word in words], axis=0)
    return [round(float(value), 6) for value in total]


class Exchange:
    """One request and the socket to answer it on."""

    def __init__(self, server: VendorServer, stream: BaseHTTPRequestHandler) -> None:
        self.server = server
        self._stream = stream
        length = int(stream.headers.get("content-length", 0))
        self.request = Request(
            stream.command,
            stream.path,
            {name.lower(): value for name, value in stream.headers.items()},
            stream.rfile.read(length),
        )

    def send(
        self,
        status: int,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        claimed_length: int | None = None,
    ) -> None:
        self._stream.send_response(status)
        sent = {"content-type": "application/json", **(headers or {})}
        for name, value in sent.items():
            self._stream.send_header(name, value)
        self._stream.send_header("content-length", str(claimed_length or len(body)))
        self._stream.end_headers()
        self._stream.wfile.write(body)

    def send_json(
        self, status: int, shape: object, *, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send(status, json.dumps(shape).encode(), headers=headers)

    def drop(self) -> None:
        self._stream.close_connection = True

    def good_vectors(self) -> list[list[float]]:
        wire, request = self.server.format, self.request
        dimensions = wire.dimensions(request)
        model = self.server.model_of(request)
        return [bag_of_words(text, dimensions, model=model) for text in wire.texts(request)]

    def serve(self) -> None:
        """Answer as the vendor does when all is well."""
        server = self.server
        texts = server.format.texts(self.request)
        shape = server.format.answer(self.request, self.good_vectors())
        with server.lock:
            server.embedded.update(texts)
            server.sizes.append(len(texts))
        self.send_json(200, shape)


@dataclass(eq=False)
class VendorServer:
    """A real HTTP server. `script` decides for each request how it fails; None serves it."""

    format: VendorFormat
    key: str | None = None
    script: Callable[[int, Request], Fault | None] = lambda _number, _request: None
    model_of: Callable[[Request], str] = lambda _request: ""
    """Tells models apart whose vectors are to differ."""
    route: Callable[[Exchange], bool] = lambda _exchange: False
    """Serves further endpoints; True when it did."""
    port: int = 0
    """Where it listens; 0 picks a free one."""
    requests: list[Request] = field(default_factory=list)
    embedded: Counter[str] = field(default_factory=Counter)
    """How often each text was answered with a vector."""
    sizes: list[int] = field(default_factory=list)
    """Texts in each request that was answered."""
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        owner = self
        busy = 0

        class Stream(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are two writes

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                del format, args

            def _serve(self) -> None:
                nonlocal busy
                exchange = Exchange(owner, self)
                with owner.lock:
                    owner.requests.append(exchange.request)
                    number = len(owner.requests)
                    busy += 1
                    owner.most_at_once = max(owner.most_at_once, busy)
                try:
                    owner._answer(number, exchange)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with owner.lock:
                        busy -= 1

            do_POST = do_GET = do_DELETE = do_PUT = _serve  # noqa: N815 - the library's names

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", self.port), Stream)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def _answer(self, number: int, exchange: Exchange) -> None:
        fault = self.script(number, exchange.request)
        if fault is not None:
            fault(exchange)
        elif not self.format.is_authorised(exchange.request, self.key):
            exchange.send_json(401, self.format.error(401, "the key is wrong"))
        elif not self.route(exchange):
            exchange.serve()


def refuse(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None) -> Fault:
    """Answer with a status and the vendor's own error shape."""
    return lambda exchange: exchange.send_json(
        status, exchange.server.format.error(status, message), headers=headers
    )


def wait_and_retry(seconds: int = 0) -> Fault:
    """Answer 429 and name the seconds to wait."""
    return refuse(429, "rate limit reached", headers={"retry-after": str(seconds)})


def _nothing() -> None:
    """Tell nobody."""


def hang(
    released: threading.Event, *, at_most: float = 30.0, stalled: Callable[[], None] = _nothing
) -> Fault:
    """Say nothing until released; `stalled` is told that the request is here."""

    def fault(exchange: Exchange) -> None:
        stalled()
        released.wait(at_most)
        exchange.drop()

    return fault


def drip(released: threading.Event, *, stalled: Callable[[], None] = _nothing) -> Fault:
    """Send a byte now and then and never finish."""

    def fault(exchange: Exchange) -> None:
        exchange.send(200, b"{", claimed_length=1_000_000)
        stalled()
        while not released.wait(0.05):
            exchange._stream.wfile.write(b" ")
            exchange._stream.wfile.flush()
        exchange.drop()

    return fault


def truncate(exchange: Exchange) -> None:
    """Promise a whole answer and send half."""
    body = json.dumps(
        exchange.server.format.answer(exchange.request, exchange.good_vectors())
    ).encode()
    exchange.send(200, body[: len(body) // 2], claimed_length=len(body))
    exchange.drop()


def html_page(exchange: Exchange) -> None:
    """Answer as a proxy's error page does."""
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    exchange.send(200, page, headers={"content-type": "text/html"})


def redirect(to: str) -> Fault:
    """Send the client elsewhere."""
    return lambda exchange: exchange.send(302, b"", headers={"location": to})


def spoilt(change: Callable[[list[list[float]]], Sequence[Sequence[float]]]) -> Fault:
    """Answer well-formed, with other vectors than asked for."""

    def fault(exchange: Exchange) -> None:
        vectors = [list(row) for row in change(exchange.good_vectors())]
        shape = exchange.server.format.answer(exchange.request, vectors)
        exchange.send(200, json.dumps(shape).encode())  # NaN is written as Python does: NaN

    return fault


too_few = spoilt(lambda vectors: vectors[:-1])
too_short = spoilt(lambda vectors: [row[:-1] for row in vectors])
not_a_number = spoilt(lambda vectors: [[float("nan"), *row[1:]] for row in vectors])


def slow(seconds: float) -> Fault:
    """Answer rightly, after a while: what a test of requests in flight needs."""

    def fault(exchange: Exchange) -> None:
        time.sleep(seconds)
        exchange.serve()

    return fault
