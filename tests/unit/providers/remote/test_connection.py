"""Connections: kept, cut by the clock, cut by another thread, and what the environment may name."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, hang

from recollect.errors import ProviderSetupError
from recollect.providers.remote.connection import Connections, CutError, HttpRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.vendors.server import Exchange


@pytest.fixture
def connections() -> Iterator[Connections]:
    with contextlib.closing(Connections()) as opened:
        yield opened


def asking(server: VendorServer) -> HttpRequest:
    return HttpRequest("POST", f"{server.url}/embeddings", {}, b'{"model": "m", "input": ["one"]}')


def close_once(connections: Connections, begun: threading.Event) -> None:
    begun.wait(PATIENCE_SECONDS)
    connections.close()


def test_a_connection_is_kept_for_the_next_request(connections: Connections) -> None:
    ports: list[int] = []

    def note(exchange: Exchange) -> bool:
        ports.append(exchange._stream.client_address[1])
        return False

    with VendorServer(OpenAiFormat(), route=note) as server:
        for _ in range(3):
            with connections.one() as connection:
                assert 200 == connection.exchange(asking(server), seconds=PATIENCE_SECONDS).status
        connections.close()

    assert 1 == len(set(ports))


def test_requests_under_way_never_share_a_connection(connections: Connections) -> None:
    with connections.one() as first, connections.one() as second:
        assert first is not second


def test_the_clock_cuts_and_what_is_cut_is_not_used_again(connections: Connections) -> None:
    released = threading.Event()
    faults = {1: hang(released)}
    with VendorServer(OpenAiFormat(), script=lambda number, _: faults.get(number)) as server:
        with connections.one() as slow, pytest.raises(CutError):
            slow.exchange(asking(server), seconds=0.05)
        with connections.one() as other:
            assert 200 == other.exchange(asking(server), seconds=PATIENCE_SECONDS).status
        released.set()
        connections.close()

    assert slow.is_cut
    assert other is not slow


def test_an_answer_without_a_length_that_is_cut_is_not_taken_for_whole(
    connections: Connections,
) -> None:
    begun, released = threading.Event(), threading.Event()

    def fault(exchange: Exchange) -> None:
        exchange._stream.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n{}")
        exchange._stream.wfile.flush()
        begun.set()
        released.wait(PATIENCE_SECONDS)
        exchange.drop()

    with (
        VendorServer(OpenAiFormat(), script=lambda *_: fault) as server,
        connections.one() as connection,
    ):
        cutter = threading.Thread(target=close_once, args=(connections, begun), daemon=True)
        cutter.start()
        with pytest.raises(CutError):
            connection.exchange(asking(server), seconds=PATIENCE_SECONDS)
        cutter.join(PATIENCE_SECONDS)
        released.set()


def test_what_is_begun_after_closing_is_cut_at_once(connections: Connections) -> None:
    connections.close()
    with (
        VendorServer(OpenAiFormat()) as server,
        connections.one() as connection,
        pytest.raises(CutError),
    ):
        connection.exchange(asking(server), seconds=PATIENCE_SECONDS)

    assert connection.is_cut


def test_cutting_what_never_began_is_no_error(connections: Connections) -> None:
    with connections.one() as connection:
        connection.cut()
        connection.cut()

    assert connection.is_cut


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://user:password@proxy:1")
    with pytest.raises(ProviderSetupError) as caught, connections.one():
        pass

    assert "ALL_PROXY" in caught.value.action
    assert "password" not in f"{caught.value.message} {caught.value.__cause__}"


def test_certificates_that_are_not_there_are_said(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise FileNotFoundError("no such file")

    monkeypatch.setattr(httpx, "create_ssl_context", missing)
    with pytest.raises(ProviderSetupError) as caught, connections.one():
        pass

    assert "SSL_CERT_FILE" in caught.value.action
