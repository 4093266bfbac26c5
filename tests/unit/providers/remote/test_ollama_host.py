"""OLLAMA_HOST: the address that Ollama's own client would use, in its usual forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.providers.keys import Variables
from recollect.providers.ollama import OLLAMA, open_ollama, url_of_host
from recollect.providers.options import ProviderOptions

HERE = "http://127.0.0.1:11434"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        # As the examples of Ollama's client have it, github.com/ollama/ollama-python.
        ("", HERE),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("1.2.3.4:56789", "http://1.2.3.4:56789"),
        ("http://1.2.3.4", "http://1.2.3.4:80"),
        ("https://1.2.3.4", "https://1.2.3.4:443"),
        ("https://1.2.3.4:56789", "https://1.2.3.4:56789"),
        ("example.com", "http://example.com:11434"),
        ("example.com:56789", "http://example.com:56789"),
        ("https://example.com", "https://example.com:443"),
        ("example.com/", "http://example.com:11434"),
        ("example.com/path", "http://example.com:11434/path"),
        ("example.com:56789/path/", "http://example.com:56789/path"),
        ("[2001:db8::1]", "http://[2001:db8::1]:11434"),
        ("[2001:db8::1]:56789", "http://[2001:db8::1]:56789"),
        ("https://[2001:db8::1]/path", "https://[2001:db8::1]:443/path"),
        # As its server has it, envconfig/config.go.
        (" 'host:1' ", "http://host:1"),
        # All addresses of the server are this machine to a client.
        ("0.0.0.0", HERE),  # noqa: S104 - read, not bound to
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:11434", HERE),
        ("[::]:11434", HERE),
    ],
)
def test_a_host_is_read_as_ollama_reads_it(told: str, expected: str) -> None:
    assert expected == url_of_host(told)


@given(st.text())
def test_no_value_is_an_error_before_the_first_request(told: str) -> None:
    assert isinstance(url_of_host(told), str)


def opened_at(host: str, *, base_url: str | None = None) -> str:
    return OLLAMA.address(base_url, Variables({"OLLAMA_HOST": host}))


def test_the_variable_names_the_address_unless_the_settings_do() -> None:
    assert "http://box:11434" == opened_at("box")
    assert "http://other:1234" == opened_at("box", base_url="http://other:1234")
    assert HERE == opened_at("")


def test_a_server_that_listens_everywhere_is_the_same_space() -> None:
    plain = open_ollama(ProviderOptions("ollama")).fingerprint
    everywhere = ProviderOptions("ollama", variables=Variables({"OLLAMA_HOST": "0.0.0.0"}))  # noqa: S104

    assert plain == open_ollama(everywhere).fingerprint


def test_a_model_and_its_latest_tag_are_the_same_space() -> None:
    bare = open_ollama(ProviderOptions(model="bge-m3")).fingerprint
    tagged = open_ollama(ProviderOptions(model="bge-m3:latest")).fingerprint
    small = open_ollama(ProviderOptions(model="all-minilm:22m")).fingerprint

    assert bare == tagged
    assert (1024, None) == (tagged.dimensions, small.dimensions)
