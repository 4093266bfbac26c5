"""Reading refusals: every vendor's shape, and no shape at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.vendors.gemini import GeminiFormat
from tests.vendors.mistral import MistralFormat
from tests.vendors.ollama import OllamaFormat
from tests.vendors.openai import OpenAiFormat
from tests.vendors.voyage import VoyageFormat

from recollect.providers.remote.refusal import Refusal, read_refusal

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
FORMATS = (OpenAiFormat(), GeminiFormat(), VoyageFormat(), MistralFormat(), OllamaFormat())
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def read(status: int, shape: object, *, retry_after: str | None = None) -> Refusal:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    body = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
    return read_refusal(status, body, headers=headers, now=NOW)


# Nothing a server says is an error of ours


@given(body=st.binary(), status=st.integers(100, 599), retry_after=st.text())
def test_any_bytes_can_be_read(body: bytes, status: int, retry_after: str) -> None:
    refusal = read(status, body, retry_after=retry_after)

    assert refusal.message.isprintable()
    assert refusal.wait_seconds is None or refusal.wait_seconds >= 0


@given(shape=JSON, status=st.integers(100, 599))
def test_any_json_can_be_read(shape: object, status: int) -> None:
    assert read(status, shape).message.isprintable()


@given(text=st.text(), name=st.sampled_from(["error", "message", "detail", "msg"]))
def test_a_message_is_one_line_that_no_terminal_obeys(text: str, name: str) -> None:
    message = read(400, {name: text}).message

    assert message.isprintable()
    assert " ".join(message.split()) == message


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"error":' * 50_000,
        b"[" * 900 + b"]" * 900,
        b"1" * 5000,
        b"<title" * 100_000,
        b'{"error": "\\ud800"}',
    ],
    ids=["lists", "objects", "closed", "digits", "titles", "surrogate"],
)
def test_what_is_made_to_break_a_reader_does_not(body: bytes) -> None:
    assert not read(500, body).is_spent


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    assert "[2J gone" == read(400, {"error": "\x1b[2J\u202egone"}).message


# The vendors' shapes


@pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: type(wire).__name__)
@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_each_vendors_words_are_found(wire: OpenAiFormat, status: int) -> None:
    assert "the words" == read(status, wire.error(status, "the words")).message


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"error": {"message": "deep"}}, "deep"),
        ([{"error": {"message": "listed"}}], "listed"),
        ({"detail": [{"loc": ["body"], "msg": "named"}]}, "named"),
        ({"message": {"detail": [{"msg": "nested"}]}}, "nested"),
        ({"error": "", "message": "second"}, "second"),
        (b"<html><title> 502\nBad </title>", "502 Bad"),
        (b"  plain\n words ", "plain words"),
        (b"", ""),
    ],
)
def test_words_are_found_wherever_servers_put_them(shape: object, expected: str) -> None:
    assert expected == read(400, shape).message


# Spent accounts


@pytest.mark.parametrize(
    ("status", "shape"),
    [
        (402, {}),
        (429, {"error": {"code": "insufficient_quota"}}),
        (400, {"error": {"code": "billing_hard_limit_reached"}}),
        (429, {"error": {"message": "Your prepayment credits are depleted."}}),
        (403, {"error": "Insufficient balance"}),
        GeminiFormat().spent(),
        VoyageFormat().spent(),
        MistralFormat().spent(),
        OllamaFormat().spent(),
    ],
)
def test_a_spent_account_is_known(status: int, shape: object) -> None:
    assert read(status, shape).is_spent


@pytest.mark.parametrize(
    ("status", "shape"),
    [
        (429, GeminiFormat().error(429, "You exceeded your current quota, see billing details.")),
        # What Voyage says where no card is on file: the rate is lower, the account is not spent.
        (
            429,
            {
                "detail": "You have not yet added your payment method in the billing page and "
                "will have reduced rate limits of 3 RPM and 10K TPM."
            },
        ),
        (400, {"detail": [{"msg": "too long", "input": "SuperDay and my credit balance"}]}),
        (400, {"error": {"message": "not this: 'insufficient funds, perday'"}}),
        (500, {"error": "payment required"}),
    ],
)
def test_an_account_that_is_not_spent_is_not_taken_for_one(status: int, shape: object) -> None:
    assert not read(status, shape).is_spent


# Keys, models, lengths


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (GeminiFormat().wrong_key()[1], True),
        ({"error": {"message": "API key expired. Please renew the API key."}}, True),
        ({"error": {"message": "Incorrect API key provided: sk-•••"}}, True),
        ({"error": {"code": "invalid_api_key"}}, True),
        ({"error": {"message": "cannot embed 'where is the API key?'"}}, False),
    ],
)
def test_a_refused_key_is_told_from_a_text_about_one(shape: object, expected: bool) -> None:  # noqa: FBT001
    assert expected == read(400, shape).is_key_refused


@pytest.mark.parametrize(
    "words",
    [
        "The model `nope` does not exist or you do not have access to it.",
        "models/nope is not found for API version v1beta",
        "Model nope is not supported. Supported models are ['voyage-4'].",
        "Invalid model: nope",
        "model 'nope' not found",
        'model "nope" not found, try pulling it first',
        "this model does not support embeddings",
    ],
)
def test_an_unknown_model_is_known(words: str) -> None:
    assert read(404, {"error": words}).is_model_unknown


@pytest.mark.parametrize(
    "words",
    [
        "This model does not support specifying dimensions.",
        "This model's maximum context length is 8192 tokens",
        "404 page not found",
    ],
)
def test_another_complaint_is_not_one_about_the_models_name(words: str) -> None:
    assert not read(400, {"error": words}).is_model_unknown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the input length exceeds the context length", True),
        ("input length exceeds maximum context length", True),
        ("request (2622 tokens) exceeds the available context size (512 tokens)", True),
        ("input is too large to process. increase the physical batch size", True),
        ("the context was cancelled", False),
    ],
)
def test_a_text_too_long_is_known(words: str, expected: bool) -> None:  # noqa: FBT001
    assert expected == read(500, {"error": words}).is_too_long


# How long to wait


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("Sun, 15 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 15 Nov 2026 12:00:30 -0000", 30.0),
        ("Sun, 15 Nov 2026 13:00:30 +0100", 30.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
        ("9" * 400, 365 * 86400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 365 * 86400.0),
        ("-5", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    retry_after: str, expected: float | None
) -> None:
    assert expected == read(429, {}, retry_after=retry_after).wait_seconds


@given(seconds=st.integers(0, 10_000))
def test_a_date_is_as_far_away_as_it_says(seconds: int) -> None:
    date = (NOW + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    assert seconds == read(503, b"", retry_after=date).wait_seconds


def retry_info(delay: str) -> object:
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    return {"error": {"details": [{"@type": kind, "retryDelay": delay}]}}


def test_google_names_the_delay_in_the_body() -> None:
    assert 34.07 == read(429, retry_info("34.07s")).wait_seconds
    assert read(429, retry_info("soon")).wait_seconds is None


def test_the_header_goes_before_the_body_unless_it_cannot_be_read() -> None:
    assert 3.0 == read(429, retry_info("9s"), retry_after="3").wait_seconds
    assert 9.0 == read(429, retry_info("9s"), retry_after="soon").wait_seconds


def test_a_text_that_looks_like_a_delay_is_none() -> None:
    assert read(429, {"error": {"param": "10s", "message": "5s"}}).wait_seconds is None
