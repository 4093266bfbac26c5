"""What every language model on a server keeps to, against each vendor's format on loopback."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
import traceback
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.chat import KEY, KNOWN_CHATS, ChatFormat, KnownChat, Reply, chat_server
from tests.vendors.server import (
    VendorServer,
    drip,
    hang,
    html_page,
    redirect,
    refuse,
    truncate,
    wait_and_retry,
)

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
    RequestRefusedError,
)
from recollect.providers.base import Completion
from recollect.providers.keys import Variables
from recollect.providers.options import CHAT_NAMES, ChatOptions
from recollect.providers.registry import open_chat
from recollect.providers.remote import chat as remote_chat
from recollect.providers.remote.pace import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.vendors.server import Exchange, Fault

    from recollect.providers.base import Chat

    Serve = Callable[..., VendorServer]
    Connect = Callable[..., Chat]

ATTEMPTS = 3
CERTIFICATES = functools.cache(httpx.create_ssl_context)  # read once, not in each test


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        remote_chat,
        "patience_within",
        lambda seconds: Patience(ATTEMPTS, 0.001, 0.05, total_seconds=seconds),
    )
    monkeypatch.setattr(httpx, "create_ssl_context", CERTIFICATES)


@pytest.fixture(params=KNOWN_CHATS, ids=lambda known: known.name)
def vendor(request: pytest.FixtureRequest) -> KnownChat:
    known: KnownChat = request.param
    return known


@pytest.fixture
def serve(vendor: KnownChat) -> Iterator[Serve]:
    """Start the vendor on loopback with one reply to everything."""
    with contextlib.ExitStack() as started:

        def start(*faults: Fault, reply: Reply | str = "yes", **more: Any) -> VendorServer:
            return started.enter_context(chat_server(vendor, lambda _: reply, *faults, **more))

        yield start


@pytest.fixture
def connect(vendor: KnownChat) -> Iterator[Connect]:
    with contextlib.ExitStack() as opened:

        def open_one(url: str | None, **changes: Any) -> Chat:
            return opened.enter_context(contextlib.closing(vendor.open(url, **changes)))

        yield open_one


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def ask(chat: Chat, prompt: str = "why?", *, seconds: float = 20.0, **more: Any) -> Completion:
    told: dict[str, Any] = {"max_tokens": 50, "temperature": 0.2, **more}
    return chat.complete(prompt, seconds=seconds, **told)


def refused(chat: Chat, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask(chat, **more)
    error = caught.value
    shown = f"{error.message} {error.action} {''.join(traceback.format_exception(error))}"

    assert "1234567890" not in shown
    assert error.action
    assert "recollect index" not in error.action
    assert "embed" not in error.message + error.action
    assert "remote." not in error.action
    return error


# The exchange


def test_the_prompt_the_system_and_the_limit_reach_the_model_and_its_words_come_back(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    server = serve(reply="Because.")
    completion = ask(connect(server.url), "why “so”?", system="Be brief.", max_tokens=77)
    [request] = server.requests
    assert isinstance(server.format, ChatFormat)

    assert Completion("Because.", 120, 30, is_cut=False) == completion
    assert ("why “so”?", "Be brief.") == (
        server.format.prompt(request),
        server.format.system(request),
    )
    assert 77 == vendor.limit_of(request.body)


def test_without_a_system_prompt_none_is_sent(connect: Connect, serve: Serve) -> None:
    server = serve()
    ask(connect(server.url))
    assert isinstance(server.format, ChatFormat)

    assert server.format.system(server.requests[0]) is None


def test_the_key_travels_in_the_documented_header_and_nowhere_else(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    server = serve()
    ask(connect(server.url))
    [request] = server.requests
    name, before = vendor.header

    assert before + KEY == request.headers[name]
    others = {other: value for other, value in request.headers.items() if other != name}
    assert KEY not in f"{request.path} {others} {request.raw!r}"


def test_an_address_from_the_settings_gets_the_vendors_key_only_if_the_settings_say_so(
    connect: Connect, vendor: KnownChat
) -> None:
    with VendorServer(vendor.format()) as server:
        ask(connect(None, base_url=server.url + vendor.path))

    assert KEY not in str(server.requests[0].headers)


def test_what_the_model_thinks_is_not_part_of_its_answer(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    shown = Reply("yes", thought="hmm") if vendor.can_think else Reply("yes")
    tagged = Reply("<think>\nhmm, {no}\n</think>\n\nyes")
    never_done = Reply("<think>\nhmm", is_cut=True)

    assert ["yes", "yes", ""] == [
        ask(connect(serve(reply=reply).url)).text for reply in (shown, tagged, never_done)
    ]


def test_an_answer_that_was_cut_says_so(connect: Connect, serve: Serve) -> None:
    completion = ask(connect(serve(reply=Reply("and then", is_cut=True)).url))

    assert completion.is_cut
    assert "and then" == completion.text


def test_an_empty_answer_is_an_empty_text(connect: Connect, serve: Serve) -> None:
    spent_on_thoughts = ask(connect(serve(reply=Reply("", is_cut=True)).url))

    assert ("", True) == (spent_on_thoughts.text, spent_on_thoughts.is_cut)
    assert "" == ask(connect(serve(reply=Reply("")).url)).text


def test_tokens_that_are_not_counted_are_unknown_and_not_zero(
    connect: Connect, serve: Serve
) -> None:
    uncounted = Reply("yes", input_tokens=None, output_tokens=None)
    completion = ask(connect(serve(reply=uncounted).url))

    assert (None, None) == (completion.input_tokens, completion.output_tokens)


def test_a_refusal_of_the_model_is_an_error_with_its_words(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    if not vendor.can_refuse:
        pytest.skip("its format has no refusal")
    error = refused(connect(serve(reply=Reply(is_refusal=True)).url))

    assert isinstance(error, RequestRefusedError)
    assert f"{vendor.name} declined to answer (" in error.message


def test_a_huge_answer_is_cut_to_what_can_be_sensible(connect: Connect, serve: Serve) -> None:
    completion = ask(connect(serve(reply="x" * 1_500_000).url))

    assert (1_000_000, True) == (len(completion.text), completion.is_cut)


# What passes by itself


@pytest.mark.parametrize(
    "fault",
    [wait_and_retry(0), refuse(500), refuse(529, "overloaded"), truncate, html_page],
    ids=["429", "500", "529", "truncated", "page"],
)
def test_a_passing_fault_is_outlasted(connect: Connect, serve: Serve, fault: Fault) -> None:
    server = serve(fault, fault)

    assert "yes" == ask(connect(server.url)).text
    assert 3 == len(server.requests)


def test_a_fault_that_stays_ends_as_busy_after_the_attempts_agreed(
    connect: Connect, serve: Serve
) -> None:
    server = serve(always=refuse(502, "no upstream"))
    error = refused(connect(server.url))

    assert isinstance(error, ProviderBusyError)
    assert "502 (no upstream)" in error.message
    assert ATTEMPTS == len(server.requests)


def test_a_server_that_asks_for_longer_than_is_sensible_is_not_waited_for(
    connect: Connect, serve: Serve
) -> None:
    server = serve(always=wait_and_retry(3600))
    error = refused(connect(server.url))

    assert isinstance(error, ProviderBusyError)
    assert error.action.startswith("Try again in 3600 seconds")
    assert 1 == len(server.requests)


@pytest.mark.parametrize("slow", [hang, drip])
def test_a_server_that_does_not_finish_is_given_up_when_the_time_is_over(
    connect: Connect,
    serve: Serve,
    released: threading.Event,
    slow: Callable[..., Fault],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    server = serve(always=slow(released, stalled=lambda: clock.forward(PATIENCE_SECONDS)))
    error = refused(connect(server.url), seconds=PATIENCE_SECONDS)

    assert isinstance(error, ProviderBusyError)
    assert "did not answer in" in error.message
    assert 1 == len(server.requests)


def test_a_server_that_is_not_there_is_named(connect: Connect, vendor: KnownChat) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        error = refused(connect(f"http://{place}"))

    assert isinstance(error, ProviderBusyError)
    assert f"{vendor.name} cannot be reached at {place} " in error.message


# What does not pass by itself: asked once


def test_a_spent_account_is_asked_exactly_once(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    status, words = vendor.spent
    server = serve(always=refuse(status, words, headers={"retry-after": "0"}))
    error = refused(connect(server.url))

    assert isinstance(error, QuotaError)
    assert "another provider" in error.action
    assert 1 == len(server.requests)


def test_a_prompt_that_is_not_taken_is_refused_once(connect: Connect, serve: Serve) -> None:
    server = serve(always=refuse(413, "too much of it"))
    error = refused(connect(server.url))

    assert isinstance(error, RequestRefusedError)
    assert "413 (too much of it)" in error.message
    assert 1 == len(server.requests)


def test_a_wrong_key_names_its_variable(connect: Connect, vendor: KnownChat, serve: Serve) -> None:
    error = refused(connect(serve().url, variables=Variables({vendor.variable: "sk-another-1"})))

    assert isinstance(error, ProviderSetupError)
    assert f"Check the key in {vendor.variable}." == error.action


def test_without_a_key_nothing_is_asked(connect: Connect, vendor: KnownChat, serve: Serve) -> None:
    server = serve()
    chat = connect(server.url, key=None)

    assert vendor.variable in refused(chat).message
    with pytest.raises(ProviderSetupError):
        chat.prepare()
    assert [] == server.requests


def test_a_key_in_the_settings_is_not_taken_and_not_shown(connect: Connect) -> None:
    chat = connect("http://127.0.0.1:1", api_key=KEY)
    with pytest.raises(ProviderSetupError) as caught:
        chat.prepare()

    assert "1234567890" not in f"{caught.value.message} {caught.value.action}"
    assert "env:NAME" in caught.value.action


@pytest.mark.parametrize("key", ["“sk-quoted-1234567890”", "sk-two\nlines-1234567890"])
def test_a_key_that_no_header_can_carry_is_named_but_not_shown(
    connect: Connect, vendor: KnownChat, serve: Serve, key: str
) -> None:
    server = serve()
    error = refused(connect(server.url, key=key))

    assert vendor.variable in error.action
    assert [] == server.requests


def test_an_unknown_model_is_answered_with_what_to_do(
    connect: Connect, vendor: KnownChat, serve: Serve
) -> None:
    status, words = vendor.unknown_model
    error = refused(connect(serve(always=refuse(status, words)).url, model="nope"))

    assert isinstance(error, ProviderSetupError)
    assert "`llm.model`" in error.action


def test_a_redirect_is_not_followed(connect: Connect, serve: Serve) -> None:
    other = serve()
    server = serve(always=redirect(f"{other.url}/elsewhere?key={KEY}"))
    error = refused(connect(server.url))

    assert isinstance(error, ProviderSetupError)
    assert "llm.base_url" in error.action
    assert [] == other.requests


def quoting_shape(exchange: Exchange) -> None:
    exchange.send_json(200, {"choices": KEY, "content": KEY, "candidates": KEY, "message": KEY})


def quoting_error(exchange: Exchange) -> None:
    exchange.send_json(200, {"error": {"message": f"upstream said no to {KEY}"}})


@pytest.mark.parametrize(
    "fault",
    [
        *(refuse(status, f"the key {KEY} is wrong") for status in (400, 401, 429, 500)),
        quoting_shape,
        quoting_error,
    ],
    ids=["400", "401", "429", "500", "shape", "error"],
)
def test_a_key_that_a_server_quotes_is_not_shown(
    connect: Connect, serve: Serve, fault: Fault
) -> None:
    refused(connect(serve(always=fault).url))


@pytest.mark.parametrize("shape", [[], {}, {"choices": []}, {"message": {"content": 5}}, "text", 7])
def test_an_answer_in_another_format_is_no_completion(
    connect: Connect, serve: Serve, shape: object
) -> None:
    error = refused(connect(serve(always=lambda exchange: exchange.send_json(200, shape)).url))

    assert "unexpected format" in error.message


def test_an_error_with_the_status_of_success_is_still_an_error(
    connect: Connect, serve: Serve
) -> None:
    error = refused(connect(serve(always=quoting_error).url))

    assert isinstance(error, RequestRefusedError)
    assert "upstream said no to •••" in error.message


# Closing


def test_closing_ends_a_wait_at_once(
    connect: Connect, serve: Serve, released: threading.Event
) -> None:
    arrived = threading.Event()

    def fault(exchange: Exchange) -> None:
        arrived.set()
        hang(released)(exchange)

    chat = connect(serve(always=fault).url)
    ended: list[ProviderError] = []
    thread = threading.Thread(target=lambda: ended.append(refused(chat)), daemon=True)
    thread.start()

    assert arrived.wait(PATIENCE_SECONDS)
    chat.close()
    thread.join(PATIENCE_SECONDS)
    assert ["The request was stopped."] == [error.message for error in ended]


# Choosing


def test_every_vendor_has_a_model_of_its_own(connect: Connect, vendor: KnownChat) -> None:
    own = connect(None)

    assert vendor.name == own.name
    assert own.model


def test_nothing_that_can_be_printed_holds_the_key(connect: Connect) -> None:
    chat: Any = connect("http://one")

    assert KEY not in f"{chat!r} {vars(chat)} {vars(chat._server)}"


def test_a_name_that_no_vendor_has_is_answered_with_those_that_are() -> None:
    with pytest.raises(ProviderSetupError) as caught:
        open_chat(ChatOptions("cohere"))

    assert all(name in caught.value.action for name in CHAT_NAMES)


# One vendor's own


def one_of(name: str) -> KnownChat:
    [known] = (known for known in KNOWN_CHATS if known.name == name)
    return known


def asked(known: KnownChat, **changes: Any) -> list[dict[str, Any]]:
    """Return what is sent to a strict stand-in until it answers."""
    with (
        chat_server(known, lambda _: "yes") as server,
        contextlib.closing(known.open(server.url, **changes)) as chat,
    ):
        for _ in range(2):
            assert "yes" == ask(chat).text
    return [request.body for request in server.requests]


def test_a_compatible_server_is_asked_with_the_older_fields() -> None:
    [body, again] = asked(one_of("openai"), model="qwen3-4b-instruct")

    assert body == again
    assert (50, 0.2) == (body["max_tokens"], body["temperature"])
    assert "reasoning_effort" not in body


def test_fields_that_a_model_does_not_know_are_left_out_from_then_on() -> None:
    *refusals, first, second = asked(one_of("openai"), model="thinker-9")

    assert 2 == len(refusals)
    assert first == second
    assert {"model", "messages", "max_completion_tokens"} == set(first)


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-6-luna", "none"), ("openai/gpt-5.6-luna", "none"), ("gpt-5-nano", "minimal")],
)
def test_openai_models_are_asked_for_the_least_reasoning(model: str, effort: str) -> None:
    [body, _] = asked(one_of("openai"), model=model)

    assert (effort, 50) == (body["reasoning_effort"], body["max_completion_tokens"])
    assert "temperature" not in body


def test_claude_is_told_not_to_think_and_no_temperature() -> None:
    [body, _] = asked(one_of("anthropic"))

    assert {"type": "disabled"} == body["thinking"]
    assert "temperature" not in body


def test_older_claude_models_get_a_temperature() -> None:
    [body, _] = asked(one_of("anthropic"), model="claude-haiku-4-5-20251001")

    assert 0.2 == body["temperature"]
    assert "thinking" not in body


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/"])
def test_anthropics_address_is_understood_with_and_without_the_version(tail: str) -> None:
    known = one_of("anthropic")
    with chat_server(known, lambda _: "yes") as server:
        variables = {"ANTHROPIC_BASE_URL": server.url + tail, "ANTHROPIC_API_KEY": KEY}
        with contextlib.closing(known.open(None, variables=Variables(variables))) as chat:
            ask(chat)

    assert ["/v1/messages"] == [request.path for request in server.requests]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-3.5-flash-lite", None),
        ("gemini-3.8-flash", {"thinkingLevel": "low"}),
        ("models/gemini-2.5-flash-lite", {"thinkingBudget": 0}),
    ],
)
def test_gemini_is_told_to_think_as_little_as_it_can(model: str, thinking: object) -> None:
    [body, _] = asked(one_of("gemini"), model=model)

    assert thinking == body["generationConfig"].get("thinkingConfig")


def test_a_filter_of_gemini_that_stops_an_answer_is_a_refusal() -> None:
    shape = {"candidates": [{"finishReason": "SAFETY", "index": 0}]}
    known = one_of("gemini")
    with (
        chat_server(known, str, always=lambda exchange: exchange.send_json(200, shape)) as server,
        contextlib.closing(known.open(server.url)) as chat,
    ):
        error = refused(chat)

    assert "declined to answer (finishReason SAFETY)" in error.message


@pytest.mark.parametrize(("chars", "context"), [(100, 4096), (20_000, 8192), (40_000, 16_384)])
def test_ollama_is_told_a_context_that_holds_the_whole_prompt(chars: int, context: int) -> None:
    known = one_of("ollama")
    with (
        chat_server(known, lambda _: "yes") as server,
        contextlib.closing(known.open(server.url)) as chat,
    ):
        ask(chat, "x" * chars)
    options: Any = server.requests[0].body["options"]

    # a quarter of the characters, 1.3 times, and 50 for the answer
    assert chars / 4 * 1.3 + 50 <= options["num_ctx"] == context
    assert False is server.requests[0].body["think"]


def test_ollama_is_asked_without_a_key() -> None:
    known = one_of("ollama")
    with (
        VendorServer(known.format()) as server,
        contextlib.closing(
            known.open(None, key=None, base_url=server.url.removeprefix("http://"))
        ) as chat,
    ):
        chat.prepare()
        ask(chat)

    assert "authorization" not in server.requests[0].headers
