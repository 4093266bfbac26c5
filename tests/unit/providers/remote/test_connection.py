"""Requests: kept connections, ends by the clock or another thread, and an unusable environment."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import pytest
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, hang

from recollect.errors import ProviderSetupError
from recollect.providers.remote.connection import HttpClient, HttpResponse
from recollect.providers.remote.pace import TryAgainError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.vendors.server import Exchange, Fault, Request


@pytest.fixture
def client() -> Iterator[HttpClient]:
    with contextlib.closing(HttpClient()) as opened:
        yield opened


def ask(
    client: HttpClient, server: VendorServer, *, seconds: float, hangs: bool = False
) -> HttpResponse:
    return client.exchange(
        "POST",
        f"{server.url}/embeddings",
        headers={"x-hangs": "yes"} if hangs else {},
        content=b'{"model": "m", "input": ["one"]}',
        seconds=seconds,
    )


def test_a_connection_is_kept_for_the_next_request(client: HttpClient) -> None:
    ports: list[int] = []

    def note(exchange: Exchange) -> bool:
        ports.append(exchange._stream.client_address[1])
        return False

    with VendorServer(OpenAiFormat(), route=note) as server:
        for _ in range(3):
            assert 200 == ask(client, server, seconds=PATIENCE_SECONDS).status
        client.close()

    assert 1 == len(set(ports))


def test_a_request_that_the_clock_ended_does_not_disturb_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, client, released = Clock(monkeypatch), HttpClient(), threading.Event()
    hanging = hang(released, stalled=lambda: clock.forward(PATIENCE_SECONDS))

    def script(_number: int, request: Request) -> Fault | None:
        return hanging if "x-hangs" in request.headers else None

    with VendorServer(OpenAiFormat(), script=script) as server:
        with pytest.raises(TryAgainError, match="did not answer"):
            ask(client, server, seconds=PATIENCE_SECONDS, hangs=True)
        assert 200 == ask(client, server, seconds=PATIENCE_SECONDS).status
        released.set()
        client.close()


def test_an_answer_without_a_length_that_is_cut_is_not_taken_for_whole(client: HttpClient) -> None:
    begun, released = threading.Event(), threading.Event()

    def fault(exchange: Exchange) -> None:
        exchange._stream.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n{}")
        exchange._stream.wfile.flush()
        begun.set()
        released.wait(PATIENCE_SECONDS)
        exchange.drop()

    def close_once_begun() -> None:
        begun.wait(PATIENCE_SECONDS)
        client.close()

    with VendorServer(OpenAiFormat(), script=lambda *_: fault) as server:
        closer = threading.Thread(target=close_once_begun, daemon=True)
        closer.start()
        with pytest.raises(TryAgainError):
            ask(client, server, seconds=PATIENCE_SECONDS)
        closer.join(PATIENCE_SECONDS)
        released.set()


def test_nothing_is_sent_after_closing(client: HttpClient) -> None:
    client.close()
    with VendorServer(OpenAiFormat()) as server:
        with pytest.raises(TryAgainError):
            ask(client, server, seconds=PATIENCE_SECONDS)

        assert [] == server.requests


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://user:password@proxy:1")
    with pytest.raises(ProviderSetupError) as caught:
        HttpClient()

    assert "ALL_PROXY" in caught.value.action
    assert "password" not in f"{caught.value.message} {caught.value.__cause__}"


def test_certificates_that_are_not_there_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    with pytest.raises(ProviderSetupError) as caught:
        HttpClient()

    assert "SSL_CERT_FILE" in caught.value.action
