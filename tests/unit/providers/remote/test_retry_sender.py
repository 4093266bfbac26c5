"""Sending: what is asked how often, and what of it may be shown."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from tests.support.clock import Clock
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, refuse

from recollect.errors import ProviderBusyError, RequestRefusedError
from recollect.providers.keys import Variables
from recollect.providers.options import RemoteOptions
from recollect.providers.remote.pace import Pace, Patience
from recollect.providers.remote.server import ModelServer, Vendor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vendors.server import Exchange

QUICK = Patience(attempts=3, first_seconds=0.001, longest_seconds=0.05, total_seconds=20.0)
ASKED = {"model": "m", "input": ["one"]}


@pytest.fixture
def server() -> Iterator[VendorServer]:
    with VendorServer(OpenAiFormat()) as started:
        yield started


@pytest.fixture
def sender(server: VendorServer) -> Iterator[ModelServer]:
    model_server = ModelServer(
        Vendor("vendor", server.url + "/", key_variable="VENDOR_KEY"),
        RemoteOptions(timeout_seconds=20.0),
        variables=Variables({"VENDOR_KEY": "sk-12345678"}),
        model="m",
    )
    with contextlib.closing(model_server):
        yield model_server


@pytest.fixture
def pace(sender: ModelServer) -> Pace:
    return sender.pace


def always(body: bytes) -> Callable[[Exchange], bool]:
    def serve(exchange: Exchange) -> bool:
        exchange.send(200, body)
        return True

    return serve


def test_the_answer_to_a_post_is_parsed(sender: ModelServer) -> None:
    shape = sender.post("embeddings", ASKED, patience=QUICK)

    assert isinstance(shape, dict)
    assert "list" == shape["object"]


def test_bytes_come_back_as_they_are_where_no_json_is_expected(
    sender: ModelServer, server: VendorServer
) -> None:
    server.route = always(b"{a file")

    assert b"{a file" == sender.send("GET", "files/1", patience=QUICK, is_json=False)
    assert [("GET", "/files/1")] == [(seen.method, seen.path) for seen in server.requests]


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff\xfe\x00"])
def test_an_answer_that_is_no_json_is_asked_for_again_and_then_given_up(
    sender: ModelServer, server: VendorServer, body: bytes
) -> None:
    server.route = always(body)
    with pytest.raises(ProviderBusyError) as caught:
        sender.post("embeddings", ASKED, patience=QUICK)

    assert 3 == len(server.requests)
    assert "remote.base_url" in caught.value.action


def test_of_a_long_refusal_the_beginning_is_shown(
    sender: ModelServer, server: VendorServer
) -> None:
    server.script = lambda *_: refuse(400, "x" * 10_000)
    with pytest.raises(RequestRefusedError) as caught:
        sender.post("embeddings", ASKED, patience=QUICK)

    assert f"vendor answered 400 ({'x' * 300})." == caught.value.message


def test_characters_that_no_encoding_has_are_sent_as_question_marks(
    sender: ModelServer, server: VendorServer
) -> None:
    sender.post("embeddings", {"model": "m", "input": ["a\ud800b", "ü"]}, patience=QUICK)

    assert ["a?b", "ü"] == server.requests[0].body["input"]


def test_a_question_does_not_wait_behind_a_pause_that_is_too_long_for_it(
    sender: ModelServer, server: VendorServer, pace: Pace
) -> None:
    pace.hold(3600)
    with pytest.raises(ProviderBusyError) as caught:
        sender.post("embeddings", ASKED, patience=Patience(3, 0.001, 0.05, 20.0, turn_seconds=6.0))

    assert "rate" in caught.value.message
    assert [] == server.requests


def test_the_time_allowed_begins_with_the_first_turn(
    sender: ModelServer, server: VendorServer, pace: Pace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(Pace, "wait", lambda _, seconds: clock.forward(seconds))
    pace.hold(2 * QUICK.total_seconds)
    sender.post("embeddings", ASKED, patience=QUICK)

    assert 1 == len(server.requests)


def test_a_turn_that_comes_after_the_time_allowed_is_not_used(
    sender: ModelServer, server: VendorServer, pace: Pace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(Pace, "wait", lambda _, seconds: clock.forward(seconds))

    def fault(exchange: Exchange) -> None:
        pace.hold(2 * QUICK.total_seconds)
        refuse(503, "busy")(exchange)

    server.script = lambda *_: fault
    with pytest.raises(ProviderBusyError) as caught:
        sender.post("embeddings", ASKED, patience=QUICK)

    assert "vendor answered 503 (busy)." == caught.value.message
    assert 1 == len(server.requests)
