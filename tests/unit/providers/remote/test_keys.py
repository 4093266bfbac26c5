"""Keys: read when used, never in what can be shown."""

from __future__ import annotations

import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.providers.keys import Variables, hide_key, is_reference, variable_of
from recollect.providers.options import ProviderOptions

PRINTABLE = string.ascii_letters + string.digits + string.punctuation
KEYS = st.text(PRINTABLE, min_size=6, max_size=60)


@given(before=st.text(), key=KEYS, after=st.text(), times=st.integers(1, 3))
def test_no_text_keeps_the_key_in_either_of_its_forms(
    before: str, key: str, after: str, times: int
) -> None:
    text = hide_key((before + key + after + quote(key, safe="")) * times, key=key)

    assert key not in text
    assert quote(key, safe="") not in text


@given(text=st.text(), key=st.text(PRINTABLE, max_size=5))
def test_a_placeholder_is_no_secret_and_leaves_messages_readable(text: str, key: str) -> None:
    assert text == hide_key(text, key=key)
    assert text == hide_key(text, key=None)


def test_the_rest_of_a_message_stays() -> None:
    assert "the key ••• is wrong" == hide_key("the key sk-12345 is wrong", key="sk-12345")


def test_an_empty_variable_counts_as_not_set() -> None:
    variables = Variables({"A": " sk-1 \n", "B": "  "})

    assert "sk-1" == variables.get("A")
    assert variables.get("B") is None
    assert variables.get("C") is None


def test_printing_the_options_does_not_print_the_environment() -> None:
    options = ProviderOptions(variables=Variables({"OPENAI_API_KEY": "sk-secret"}))

    assert "sk-secret" not in f"{options!r} {options}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env:OPENAI_API_KEY", True),
        ("env:K2", True),
        ("env:", False),
        ("env:A B", False),
        ("OPENAI_API_KEY", False),
        ("sk-12345", False),
    ],
)
def test_a_setting_names_a_variable_or_is_none(text: str, expected: bool) -> None:  # noqa: FBT001
    assert expected == is_reference(text)


def test_a_reference_names_its_variable() -> None:
    assert "OPENAI_API_KEY" == variable_of("env:OPENAI_API_KEY")
