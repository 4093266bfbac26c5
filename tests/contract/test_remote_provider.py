"""What every provider on a server keeps to, shown against each vendor's format on loopback."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.gemini import GeminiFormat
from tests.vendors.known import KEY, KNOWN, KnownVendor
from tests.vendors.ollama import TOO_LONG
from tests.vendors.server import (
    VendorServer,
    bag_of_words,
    drip,
    hang,
    html_page,
    not_a_number,
    redirect,
    refuse,
    spoilt,
    too_few,
    too_short,
    truncate,
    wait_and_retry,
)
from tests.vendors.strict import strict

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.providers.options import RemoteOptions
from recollect.providers.remote import provider as remote_provider
from recollect.providers.remote.pace import Pace, Patience
from recollect.types import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vendors.server import Exchange, Fault, Request

    from recollect.providers.remote.provider import RemoteProvider
    from recollect.types import Vector

    Serve = Callable[..., VendorServer]
    Connect = Callable[..., RemoteProvider]

QUICK = Patience(attempts=3, first_seconds=0.001, longest_seconds=0.05, total_seconds=20.0)


CERTIFICATES = functools.cache(httpx.create_ssl_context)  # read once, not in each test


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch, QUICK)
    monkeypatch.setattr(httpx, "create_ssl_context", CERTIFICATES)


def be_patient(monkeypatch: pytest.MonkeyPatch, patience: Patience) -> None:
    monkeypatch.setattr(remote_provider, "FOR_INDEXING", patience)
    monkeypatch.setattr(remote_provider, "FOR_QUESTIONS", patience)


@pytest.fixture(params=KNOWN, ids=lambda known: known.name)
def vendor(request: pytest.FixtureRequest) -> KnownVendor:
    known: KnownVendor = request.param
    return known


@pytest.fixture
def serve(vendor: KnownVendor) -> Iterator[Serve]:
    """Start the vendor on loopback; faults stand in for its first answers, or for all."""
    started: list[VendorServer] = []

    def start(*faults: Fault, always: Fault | None = None) -> VendorServer:
        def script(number: int, _request: Request) -> Fault | None:
            return faults[number - 1] if number <= len(faults) else always

        server = VendorServer(vendor.format(), key=KEY, script=script, route=strict)
        started.append(server.__enter__())
        # Head and body are written apart: the second would wait for the first to be confirmed.
        server._server.RequestHandlerClass.disable_nagle_algorithm = True  # type: ignore[attr-defined]  # typed as a callable
        return server

    yield start
    for server in started:
        server.__exit__(None, None, None)


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Open a vendor's provider for a server, and close it after the test."""
    with contextlib.ExitStack() as opened:

        def open_provider(known: KnownVendor, url: str | None, **changes: Any) -> RemoteProvider:
            return opened.enter_context(contextlib.closing(known.open(url, **changes)))

        yield open_provider


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Ends what a server holds back."""
    event = threading.Event()
    yield event
    event.set()


def refused(provider: RemoteProvider, *texts: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider.embed(texts or ("one",), role=Role.DOCUMENT)
    error = caught.value

    assert KEY not in shown(error)
    assert error.action
    return error


def shown(error: ProviderError) -> str:
    """Return all that any user, log or traceback could show of an error."""
    chain = "".join(traceback.format_exception(error))
    return f"{error.message} {error.action} {error!r} {chain}"


# The exchange


@pytest.mark.parametrize("role", Role)
def test_a_text_is_worded_by_its_role_as_the_vendor_documents(
    connect: Connect, vendor: KnownVendor, serve: Serve, role: Role
) -> None:
    server = serve()
    connect(vendor, server.url).embed(["one"], role=role)
    [request] = server.requests
    [text] = server.format.texts(request)

    assert vendor.roles[role] == (text, vendor.role_field(request))


def test_the_key_travels_in_the_documented_header_and_nowhere_else(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    connect(vendor, server.url).embed(["one"], role=Role.QUERY)
    [request] = server.requests
    name, before = vendor.header

    assert before + KEY == request.headers[name]
    others = {other: value for other, value in request.headers.items() if other != name}
    assert KEY not in f"{request.path} {others} {request.raw!r}"


def test_an_address_from_the_settings_gets_the_vendors_key_only_if_the_settings_say_so(
    connect: Connect,
    vendor: KnownVendor,
) -> None:
    with VendorServer(vendor.format()) as server:
        remote = RemoteOptions(base_url=server.url + vendor.path)
        connect(vendor, None, remote=remote).embed(["one"], role=Role.QUERY)

    assert KEY not in str(server.requests[0].headers)


def test_vectors_come_back_in_the_order_of_the_texts_and_of_unit_length(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    texts = ["tea at four", "a red bicycle", "the harbour master"]
    vectors = connect(vendor, server.url).embed(texts, role=Role.DOCUMENT)
    sent = server.format.texts(server.requests[0])
    expected = np.array([bag_of_words(text, vendor.dimensions) for text in sent])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)

    assert (3, vendor.dimensions) == vectors.shape
    assert np.float32 == vectors.dtype
    assert np.allclose(1.0, np.linalg.norm(vectors, axis=1), atol=1e-6)
    assert np.allclose(expected, vectors, atol=1e-6)


def test_the_dimensions_asked_for_reach_the_vendor(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    provider = connect(vendor, server.url, model=vendor.sizeable, dimensions=256)
    vectors = provider.embed(["one"], role=Role.DOCUMENT)

    assert 256 == vendor.size_field(server.requests[0])
    assert (1, 256) == vectors.shape
    assert 256 == provider.fingerprint.dimensions


def test_no_dimensions_are_named_where_none_are_set(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    connect(vendor, server.url).embed(["one"], role=Role.DOCUMENT)

    assert vendor.size_field(server.requests[0]) is None


def test_the_vendor_takes_as_many_texts_as_the_limit_says(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    provider = connect(vendor, server.url, model=vendor.sizeable, dimensions=256)
    texts = [f"t{number}" for number in range(provider.limits.texts)]

    assert len(texts) == len(provider.embed(texts, role=Role.DOCUMENT))


def test_requests_at_the_same_time_do_not_mix_their_answers(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    provider = connect(vendor, serve().url)
    texts = [f"word{number}" for number in range(8)]
    alone = [provider.embed([text], role=Role.QUERY)[0] for text in texts]
    together: dict[int, Vector] = {}

    def ask(number: int) -> None:
        together[number] = provider.embed([texts[number]], role=Role.QUERY)[0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert all(np.array_equal(alone[number], together[number]) for number in range(len(texts)))


# What passes by itself


def test_a_server_that_asks_to_wait_is_waited_for_and_asked_again(
    connect: Connect, vendor: KnownVendor, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = QUICK.longest_seconds
    server = serve(refuse(429, "slow down", headers={"retry-after": str(longest)}))
    held: list[float] = []
    hold = Pace.hold

    def note(pace: Pace, seconds: float) -> None:
        held.append(seconds)
        hold(pace, seconds)

    monkeypatch.setattr(Pace, "hold", note)

    assert 1 == len(connect(vendor, server.url).embed(["one"], role=Role.DOCUMENT))
    assert 2 == len(server.requests)
    [waited] = held
    assert longest <= waited <= 1.5 * longest


def test_a_server_that_asks_for_longer_than_is_sensible_is_not_waited_for(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve(always=wait_and_retry(3600))
    error = refused(connect(vendor, server.url))

    assert isinstance(error, ProviderBusyError)
    assert "3600 seconds" in error.action
    assert 1 == len(server.requests)


@pytest.mark.parametrize(
    "fault",
    [wait_and_retry(0), refuse(500), refuse(503, "overloaded"), refuse(408), truncate, html_page],
    ids=["no-wait", "500", "503", "408", "truncated", "page"],
)
def test_a_passing_fault_is_outlasted(
    connect: Connect, vendor: KnownVendor, serve: Serve, fault: Fault
) -> None:
    server = serve(fault, fault)

    assert 1 == len(connect(vendor, server.url).embed(["one"], role=Role.DOCUMENT))
    assert 3 == len(server.requests)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (wait_and_retry(0), "429"),
        (refuse(502, "no upstream"), "502 (no upstream)"),
        (truncate, "broke off"),
        (html_page, "502 Bad Gateway nginx"),
    ],
    ids=["429", "502", "truncated", "page"],
)
def test_a_fault_that_stays_ends_as_busy_after_the_attempts_agreed(
    connect: Connect, vendor: KnownVendor, serve: Serve, fault: Fault, words: str
) -> None:
    server = serve(always=fault)
    error = refused(connect(vendor, server.url))

    assert isinstance(error, ProviderBusyError)
    assert words in error.message
    assert QUICK.attempts == len(server.requests)


def head_drip(released: threading.Event, *, stalled: Callable[[], None]) -> Fault:
    """Begin an answer and go on with its headers for ever."""

    def fault(exchange: Exchange) -> None:
        out = exchange._stream.wfile
        out.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        stalled()
        while not released.wait(0.02):
            out.write(b"z")
            out.flush()
        exchange.drop()

    return fault


@pytest.mark.parametrize("slow", [hang, drip, head_drip])
def test_a_server_that_does_not_finish_is_given_up_after_the_time_out(  # noqa: PLR0917 - fixtures
    connect: Connect,
    vendor: KnownVendor,
    serve: Serve,
    released: threading.Event,
    slow: Callable[..., Fault],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    be_patient(monkeypatch, replace(QUICK, attempts=2, total_seconds=100 * PATIENCE_SECONDS))
    server = serve(always=slow(released, stalled=lambda: clock.forward(PATIENCE_SECONDS)))
    error = refused(connect(vendor, server.url, timeout_seconds=PATIENCE_SECONDS))

    assert isinstance(error, ProviderBusyError)
    assert f"{vendor.name} did not answer in {PATIENCE_SECONDS:g} s." == error.message
    assert 2 == len(server.requests)


def test_a_server_that_is_not_there_is_named(connect: Connect, vendor: KnownVendor) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        error = refused(connect(vendor, f"http://{place}"))

    assert isinstance(error, ProviderBusyError)
    assert f"{vendor.name} cannot be reached at {place} " in error.message


# What does not pass by itself: asked once


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (too_few, "1 vectors for 2 texts"),
        (too_short, "dimensions where"),
        (not_a_number, "not finite"),
        (spoilt(lambda rows: [[1e400, *row[1:]] for row in rows]), "not finite"),
        (spoilt(lambda rows: [[0.0 for _ in row] for row in rows]), "vectors of zeros"),
        (spoilt(lambda rows: [rows[0], rows[1][:-1]]), "unequal length"),
        (spoilt(lambda rows: [["x", *row[1:]] for row in rows]), "without numbers"),  # type: ignore[list-item]
        (
            lambda exchange: exchange.send_json(200, {"data": 5, "embeddings": 5}),
            "unexpected format",
        ),
        (lambda exchange: exchange.send_json(200, [1, 2]), "unexpected format"),
    ],
    ids=["count", "short", "nan", "inf", "zeros", "ragged", "words", "number", "list"],
)
def test_vectors_that_cannot_be_used_are_rejected(
    connect: Connect, vendor: KnownVendor, serve: Serve, fault: Fault, words: str
) -> None:
    server = serve(always=fault)
    error = refused(connect(vendor, server.url), "one", "two")

    assert isinstance(error, VectorsRejectedError)
    assert words in error.message
    assert "`dimensions`" in error.action
    assert 1 == len(server.requests)


def test_vectors_of_very_small_and_very_large_values_are_brought_to_unit_length(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    scaled = spoilt(
        lambda rows: [[1e-200 * value for value in rows[0]], [1e200 * value for value in rows[1]]]
    )
    vectors = connect(vendor, serve(always=scaled).url).embed(["one", "two"], role=Role.DOCUMENT)

    assert np.allclose(1.0, np.linalg.norm(vectors, axis=1), atol=1e-6)


def test_a_spent_account_is_asked_exactly_once(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    status, shape = vendor.spent
    server = serve(
        always=lambda exchange: exchange.send_json(status, shape, headers={"retry-after": "0"})
    )
    error = refused(connect(vendor, server.url))

    assert isinstance(error, QuotaError)
    assert "Top up the account" in error.action
    assert 1 == len(server.requests)


def test_payment_required_is_a_spent_account_whatever_the_words(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve(always=refuse(402, "please"))

    assert isinstance(refused(connect(vendor, server.url)), QuotaError)
    assert 1 == len(server.requests)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_texts_that_are_not_taken_are_refused_once(
    connect: Connect, vendor: KnownVendor, serve: Serve, status: int
) -> None:
    server = serve(always=refuse(status, "too much of it"))
    error = refused(connect(vendor, server.url))

    assert isinstance(error, RequestRefusedError)
    assert f"{vendor.name} answered {status} (too much of it)." == error.message
    assert 1 == len(server.requests)


@pytest.mark.parametrize("status", [400, 500])
def test_a_text_too_long_for_the_model_is_refused_whatever_the_status(
    connect: Connect, vendor: KnownVendor, serve: Serve, status: int
) -> None:
    server = serve(always=refuse(status, TOO_LONG))

    assert isinstance(refused(connect(vendor, server.url)), RequestRefusedError)
    assert 1 == len(server.requests)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable(
    connect: Connect, vendor: KnownVendor, serve: Serve, status: int
) -> None:
    server = serve(always=refuse(status, "not you"))
    error = refused(connect(vendor, server.url))

    assert isinstance(error, ProviderSetupError)
    assert f"Check the key in {vendor.variable}." == error.action
    assert 1 == len(server.requests)


def test_a_wrong_key_is_refused_by_the_vendor_and_not_shown(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    error = refused(connect(vendor, serve().url, key="sk-of-somebody-else"))

    assert isinstance(error, ProviderSetupError)
    assert vendor.variable in error.action
    assert "sk-of-somebody-else" not in shown(error)


def test_without_a_key_nothing_is_asked(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    provider = connect(vendor, server.url, key=None)
    error = refused(provider)

    assert isinstance(error, ProviderSetupError)
    assert vendor.variable in error.message
    with pytest.raises(ProviderSetupError):
        provider.prepare()
    assert [] == server.requests


@pytest.mark.parametrize("key", ["“sk-quoted-1234567890”", "sk-two\nlines-1234567890"])
def test_a_key_that_no_header_can_carry_is_named_but_not_shown(
    connect: Connect, vendor: KnownVendor, serve: Serve, key: str
) -> None:
    server = serve()
    error = refused(connect(vendor, server.url, key=key))

    assert isinstance(error, ProviderSetupError)
    assert vendor.variable in error.action
    assert "1234567890" not in shown(error)
    assert [] == server.requests


def test_an_unknown_model_is_answered_with_what_to_do(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    status, words = vendor.unknown_model
    server = serve(always=refuse(status, words))
    error = refused(connect(vendor, server.url, model="nope"))

    assert isinstance(error, ProviderSetupError)
    assert vendor.model_action == error.action
    assert 1 == len(server.requests)


def test_a_wrong_path_asks_to_check_the_address(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve(always=refuse(404, "404 page not found"))
    error = refused(connect(vendor, server.url))

    assert isinstance(error, ProviderSetupError)
    assert "remote.base_url" in error.action


def test_a_redirect_is_not_followed(connect: Connect, vendor: KnownVendor, serve: Serve) -> None:
    other = serve()
    server = serve(always=redirect(f"{other.url}/elsewhere?key={KEY}"))
    error = refused(connect(vendor, server.url))

    assert isinstance(error, ProviderSetupError)
    assert other.url.removeprefix("http://") in error.message
    assert 1 == len(server.requests)
    assert [] == other.requests


@pytest.mark.parametrize("location", ["http://[", "", "/login", "http://user:word@host/"])
def test_a_redirect_to_nowhere_sensible_is_still_only_a_redirect(
    connect: Connect, vendor: KnownVendor, serve: Serve, location: str
) -> None:
    error = refused(connect(vendor, serve(always=redirect(location)).url))

    assert isinstance(error, ProviderSetupError)
    assert "word" not in error.message


@pytest.mark.parametrize("url", ["localhost:1234", "http://[::1"])
def test_an_address_that_is_none_is_not_asked_again_and_again(
    connect: Connect, vendor: KnownVendor, url: str
) -> None:
    error = refused(connect(vendor, url))

    assert isinstance(error, ProviderSetupError)
    assert "remote.base_url" in error.action


# Servers that quote the key


def quoting_status_line(exchange: Exchange) -> None:
    exchange._stream.wfile.write(f"HTTP/1.1 {KEY} what\r\n\r\n".encode())
    exchange.drop()


def quoting_title(exchange: Exchange) -> None:
    exchange.send(200, f"<title>{KEY} is wrong</title>".encode())


def quoting_value(exchange: Exchange) -> None:
    rows = [[KEY, *row[1:]] for row in exchange.good_vectors()]
    exchange.send_json(200, exchange.server.format.answer(exchange.request, rows))  # type: ignore[arg-type]


def quoting_field(exchange: Exchange) -> None:
    row = {"index": KEY, "embedding": [KEY], "values": KEY}
    exchange.send_json(200, {"data": [row], "embeddings": [row]})


@pytest.mark.parametrize(
    "fault",
    [
        *(refuse(status, f"the key {KEY} is wrong") for status in (400, 401, 402, 404, 429, 500)),
        refuse(400, f"{'x' * 280} {KEY}"),
        refuse(400, "quoted: sk-test%2Fwith%2Bsigns%3Dand-1234567890"),
        quoting_status_line,
        quoting_title,
        quoting_value,
        quoting_field,
    ],
    ids=["400", "401", "402", "404", "429", "500", "cut", "url", "line", "title", "value", "field"],
)
def test_a_key_that_a_server_quotes_is_not_shown(
    connect: Connect, vendor: KnownVendor, serve: Serve, fault: Fault
) -> None:
    text = shown(refused(connect(vendor, serve(always=fault).url)))

    assert "1234567890" not in text
    assert "sk-test" not in text


# Closing


@pytest.mark.parametrize("is_held", [True, False], ids=["asked-to-wait", "hanging"])
def test_closing_ends_a_wait_at_once(  # noqa: PLR0917 - fixtures
    connect: Connect,
    vendor: KnownVendor,
    serve: Serve,
    released: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    is_held: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    long = 2 * PATIENCE_SECONDS
    be_patient(monkeypatch, Patience(3, 0.001, longest_seconds=long, total_seconds=10 * long))
    arrived = threading.Event()

    def fault(exchange: Exchange) -> None:
        arrived.set()
        (wait_and_retry(int(long)) if is_held else hang(released, at_most=long))(exchange)

    provider = connect(vendor, serve(always=fault).url, timeout_seconds=long)
    ended: list[ProviderError] = []
    thread = threading.Thread(target=lambda: ended.append(refused(provider)), daemon=True)
    thread.start()

    assert arrived.wait(PATIENCE_SECONDS)
    provider.close()
    thread.join(PATIENCE_SECONDS)
    assert ["The request was stopped."] == [error.message for error in ended]


def test_a_closed_provider_asks_nothing_any_more(
    connect: Connect, vendor: KnownVendor, serve: Serve
) -> None:
    server = serve()
    provider = connect(vendor, server.url)
    provider.embed(["one"], role=Role.DOCUMENT)
    provider.close()
    provider.close()

    assert isinstance(refused(provider), ProviderBusyError)
    assert 1 == len(server.requests)


# The identity of the space


def test_the_same_settings_are_the_same_space(vendor: KnownVendor) -> None:
    changed: dict[str, Any] = {"key": None, "timeout_seconds": 1.0}

    assert vendor.open("http://one").fingerprint == vendor.open("http://one", **changed).fingerprint
    slash = RemoteOptions(base_url=f"http://one{vendor.path}/")
    assert vendor.open("http://one").fingerprint == vendor.open(None, remote=slash).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another"},
        {"dimensions": 64},
        {"remote": RemoteOptions(base_url="http://two")},
        {"remote": RemoteOptions()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_moves_vectors_makes_another_space(
    vendor: KnownVendor, change: dict[str, Any]
) -> None:
    assert vendor.open("http://one").fingerprint != vendor.open("http://one", **change).fingerprint


def test_nothing_that_can_be_printed_holds_the_key(vendor: KnownVendor) -> None:
    provider = vendor.open("http://one")

    assert KEY not in f"{provider!r} {provider._options!r} {provider.fingerprint!r}"


# One vendor's own


def test_gemini_says_400_to_a_wrong_key_and_is_understood(connect: Connect) -> None:
    [gemini] = (known for known in KNOWN if known.name == "gemini")
    status, shape = GeminiFormat().wrong_key()
    with VendorServer(
        GeminiFormat(), script=lambda *_: lambda exchange: exchange.send_json(status, shape)
    ) as server:
        error = refused(connect(gemini, server.url))

    assert isinstance(error, ProviderSetupError)
    assert "Check the key in GEMINI_API_KEY." == error.action


@pytest.mark.parametrize("model", ["gemini-embedding-2", "gemini-embedding-2-preview"])
def test_later_gemini_models_are_told_the_task_in_the_text(connect: Connect, model: str) -> None:
    [gemini] = (known for known in KNOWN if known.name == "gemini")
    with VendorServer(GeminiFormat(), key=KEY, route=strict) as server:
        provider = connect(gemini, server.url, model=f"models/{model}")
        provider.embed(["one"], role=Role.QUERY)
        provider.embed(["one"], role=Role.DOCUMENT)

    assert ["task: search result | query: one", "title: none | text: one"] == [
        text for request in server.requests for text in server.format.texts(request)
    ]
    assert b"taskType" not in b"".join(request.raw for request in server.requests)


@pytest.mark.parametrize("name", ["voyage", "ollama"])
def test_nothing_is_cut_silently(connect: Connect, name: str) -> None:
    [known] = (known for known in KNOWN if known.name == name)
    with VendorServer(known.format(), key=KEY, route=strict) as server:
        error = refused(connect(known, server.url), "long " * 30_000)

    assert isinstance(error, RequestRefusedError)
    body = json.loads(server.requests[0].raw)
    assert False is (body["truncation"] if name == "voyage" else body["truncate"])


def test_ollama_is_asked_without_a_key(connect: Connect) -> None:
    [ollama] = (known for known in KNOWN if known.name == "ollama")
    with VendorServer(ollama.format(), route=strict) as server:
        provider = connect(ollama, None, key=None, remote=RemoteOptions(base_url=server.url))
        provider.prepare()
        provider.embed(["one"], role=Role.QUERY)

    assert "authorization" not in server.requests[0].headers
    assert 1 == provider.limits.in_flight
