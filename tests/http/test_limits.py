"""What a client can take of the server, and that a slow or lost one costs the others nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.http.servers import inside
from tests.support.waiting import PATIENCE_SECONDS, wait_until

from recollect.shells.http.listen import ServerLimits, bound
from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.http.servers import Command, Inside

SMALL = ServerLimits(
    body_bytes=2_000,
    requests=3,
    seconds=PATIENCE_SECONDS,
    header_seconds=PATIENCE_SECONDS,
    body_seconds=PATIENCE_SECONDS,
    connections=8,
)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def here(
    workspace: Path, environ: Mapping[str, str], request: pytest.FixtureRequest
) -> Iterator[Inside]:
    """A server with room for little; nothing has to be embedded."""
    options = ServeOptions("127.0.0.1", 0, limits=getattr(request, "param", SMALL))
    with inside(workspace, {**environ, "RECOLLECT_PROVIDER": "none"}, options) as running:
        wait_until(lambda: running.memory.state == "idle")
        yield running


@contextlib.contextmanager
def connected(here: Inside) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", here.port), timeout=30) as connection:
        yield connection


def ask_and_leave(here: Inside, path: str) -> None:
    before = here.state.metrics.in_progress
    with connected(here) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n\r\n".encode())
        wait_until(lambda: here.state.metrics.in_progress > before)
    wait_until(lambda: here.state.metrics.in_progress == before)


def test_the_end_of_an_answer_is_not_held_back_until_its_beginning_is_acknowledged() -> None:
    with bound("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_body_that_is_too_large_is_refused(here: Inside) -> None:
    body = json.dumps({"text": "x" * 2_000}).encode()

    answer = httpx.post(f"{here.url}/api/facts", content=body, headers=JSON)

    assert (413, "body") == (answer.status_code, answer.json()["error"]["type"])


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large(here: Inside) -> None:
    answer = httpx.post(
        f"{here.url}/api/facts", content=(b"x" * 500 for _ in range(10)), headers=JSON
    )

    assert 413 == answer.status_code


def test_a_body_that_is_not_json_is_refused(here: Inside) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = httpx.post(
            f"{here.url}/api/facts", content=b'{"text":"x"}', headers={"Content-Type": media}
        )

        assert (415, "media") == (answer.status_code, answer.json()["error"]["type"])


def test_a_body_where_none_belongs_is_refused(here: Inside) -> None:
    answer = httpx.request("GET", f"{here.url}/api/status", content=b"{}")

    assert 400 == answer.status_code
    assert "This operation takes no body." == answer.json()["error"]["message"]


@pytest.mark.parametrize("here", [replace(SMALL, seconds=1.0)], indirect=True)
def test_what_takes_too_long_is_answered_in_words(here: Inside) -> None:
    with here.busy():
        answer = httpx.get(f"{here.url}/api/search?query=x", timeout=30)

    assert (503, "time") == (answer.status_code, answer.json()["error"]["type"])
    assert "It took more than 1 seconds." == answer.json()["error"]["message"]
    assert "5" == answer.headers["retry-after"]


def test_requests_beyond_the_limit_are_told_to_retry_later(here: Inside) -> None:
    codes: list[int] = []

    def ask() -> None:
        codes.append(httpx.get(f"{here.url}/api/status", timeout=30).status_code)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    with here.busy():
        for thread in threads:
            thread.start()
        wait_until(lambda: here.state.metrics.in_progress == 3)
        refused = httpx.get(f"{here.url}/api/status", timeout=30)
        health = httpx.get(f"{here.url}/health", timeout=30)
    for thread in threads:
        thread.join(30)

    assert (429, "1") == (refused.status_code, refused.headers["retry-after"])
    assert 200 == health.status_code
    assert 3 == len(codes)
    assert 0 == here.state.metrics.in_progress


def test_a_question_whose_asker_left_is_not_asked(here: Inside) -> None:
    with here.busy():
        ask_and_leave(here, "/api/search?query=left")
        ask_and_leave(here, "/api/search?query=left+too")
    answer = httpx.get(f"{here.url}/api/search?query=stayed", timeout=30)
    metrics = httpx.get(f"{here.url}/metrics", timeout=30).text

    assert 200 == answer.status_code
    assert "recollect_http_requests_abandoned_total 2" in metrics
    assert 'recollect_searches_total{mode="keyword"} 1' in metrics


def test_a_fact_whose_writer_left_before_its_turn_is_not_written(
    here: Inside, workspace: Path
) -> None:
    body = b'{"text":"Never."}'
    with here.busy(), connected(here) as connection:
        connection.sendall(
            f"POST /api/facts HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        wait_until(lambda: here.state.metrics.in_progress == 1)
        connection.close()
        wait_until(lambda: here.state.metrics.in_progress == 0)
    httpx.get(f"{here.url}/api/status", timeout=30)

    assert not (workspace / "memory" / "facts").exists()


HASTY = pytest.mark.parametrize("here", [replace(SMALL, header_seconds=0.5)], indirect=True)


@HASTY
def test_a_client_that_never_ends_its_head_is_hung_up_on(here: Inside) -> None:
    with connected(here) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: ")

        assert b"" == connection.recv(100)


@HASTY
def test_a_client_that_sends_its_head_drop_by_drop_is_hung_up_on(here: Inside) -> None:
    ended = threading.Event()
    with connected(here) as connection:

        def drip() -> None:
            with contextlib.suppress(OSError):
                while not ended.wait(0.05):
                    connection.sendall(b"x")

        connection.sendall(b"GET /health HTTP/1.1\r\nX: ")
        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            with contextlib.suppress(ConnectionResetError):
                assert b"" == connection.recv(100)
        finally:
            ended.set()
            dripping.join(30)


@pytest.mark.parametrize("here", [replace(SMALL, body_seconds=0.5)], indirect=True)
def test_a_body_that_never_comes_is_answered_in_words(here: Inside) -> None:
    with connected(here) as connection:
        connection.sendall(
            f"POST /api/facts HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
        )

        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_half_bodies_take_no_place_from_others(here: Inside) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(SMALL.requests + 2):
            stack.enter_context(connected(here)).sendall(
                f"POST /api/facts HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n"
                "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
            )

        assert 200 == httpx.get(f"{here.url}/api/status", timeout=30).status_code


@pytest.mark.parametrize(
    ("version", "framing"),
    [
        ("1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        ("1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        ("1.1", "Content-Length: 0\r\nTransfer-Encoding: CHUNKED"),
        ("1.0", "Transfer-Encoding: chunked"),
        ("1.1", "Content-Length: 5\r\nContent-Length: 6"),
        ("1.1", "Content-Length: 5, 6"),
        ("1.1", "Content-Length: +5"),
        ("1.1", "Content-Length: -1"),
        ("1.1", "Content-Length: 0x5"),
        ("1.1", "Content-Length: 5_0"),
        ("1.1", "Content-Length: 99999999999999999999999"),
        ("1.1", "Content-Length:"),
        ("1.1", "Transfer-Encoding: gzip, chunked"),
        ("1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        ("1.1", "Transfer-Encoding: xchunked"),
        ("1.1", "Transfer-Encoding : chunked"),
    ],
)
def test_a_body_whose_end_is_ambiguous_is_refused_and_its_connection_closed(
    here: Inside, version: str, framing: str
) -> None:
    head = f"Host: 127.0.0.1:{here.port}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    hidden = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n\r\n"
    with connected(here) as connection:
        connection.sendall(f"POST /api/facts HTTP/{version}\r\n{head}0\r\n\r\n{hidden}".encode())
        said = _until_closed(connection)

    assert said.startswith(b"HTTP/1.1 400 ")
    assert 1 == said.count(b"HTTP/1.1 ")


def _until_closed(connection: socket.socket) -> bytes:
    said = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(10_000):
            said += part
    return bytes(said)


def test_slow_clients_do_not_hold_up_the_others(here: Inside) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connected(here)).sendall(b"GET /api/sta")

        assert 200 == httpx.get(f"{here.url}/api/status", timeout=30).status_code


def test_one_connection_too_many_is_not_taken_until_others_end(here: Inside) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connected(here))
        last = stack.enter_context(connected(here))
        with contextlib.suppress(ConnectionResetError):
            assert b"" == last.recv(100)

    wait_until(lambda: _answers(here))


def _answers(here: Inside) -> bool:
    try:
        return httpx.get(f"{here.url}/health", timeout=30).status_code == 200
    except httpx.TransportError:
        return False


def test_a_connection_is_used_for_many_requests(server: Command) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert {200} == {client.get("/health").status_code for _ in range(50)}
