"""Choosing a provider: the order, the reasons, and never another space by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.vendors.gemini import GeminiFormat
from tests.vendors.server import VendorServer

from recollect.config.schema import read_setting
from recollect.errors import ConfigError
from recollect.providers.chain import Chain
from recollect.providers.keys import Variables
from recollect.providers.openai import open_openai
from recollect.providers.options import ProviderOptions
from recollect.types import Degradation, Fingerprint

if TYPE_CHECKING:
    from pathlib import Path


def chain(
    tmp_path: Path, *, provider: str = "auto", fallback: tuple[str, ...] = (), **variables: str
) -> Chain:
    """A chain whose local model cannot be had."""
    options = ProviderOptions(
        provider=provider,
        fallback=fallback,
        model_path=tmp_path,
        variables=Variables(variables),
    )
    return Chain(options)


def test_the_first_that_has_what_it_needs_is_taken_and_every_other_has_a_reason(
    tmp_path: Path,
) -> None:
    with VendorServer(GeminiFormat()) as server:
        found = chain(
            tmp_path,
            fallback=("openai", "gemini", "mistral"),
            GEMINI_API_KEY="k" * 20,
            GOOGLE_GEMINI_BASE_URL=server.url,
            MISTRAL_API_KEY="k" * 20,
        )
        choice = found.choose(None, retry=True)
        found.close()

    assert choice.provider is not None
    assert "gemini" == choice.provider.fingerprint.provider
    assert ["local", "openai", "mistral"] == list(choice.skipped)
    assert "OPENAI_API_KEY" in choice.skipped["openai"].reason
    assert "Not needed: gemini comes first and works" in choice.skipped["mistral"].reason
    assert choice.notice is not None
    assert choice.notice.startswith("gemini embeds your texts. local: ")
    assert " openai: openai needs a key" in choice.notice


def test_with_nothing_to_take_every_reason_is_told(tmp_path: Path) -> None:
    alone = chain(tmp_path).choose(None, retry=True).degradation
    named = chain(tmp_path, fallback=("openai", "gemini")).choose(None, retry=True)

    assert alone is not None
    assert "cannot be used" in alone.reason
    assert named.degradation is not None
    assert all(f"{name}: " in named.degradation.reason for name in ("local", "openai", "gemini"))
    assert "GEMINI_API_KEY" in named.degradation.reason


def test_a_complete_index_is_not_given_to_another_provider(tmp_path: Path) -> None:
    published = Fingerprint("gemini", "gemini-embedding-001", 3072, "plain")
    found = chain(tmp_path, fallback=("openai", "gemini"), OPENAI_API_KEY="k" * 20)

    choice = found.choose(published, retry=True)

    assert choice.provider is None
    assert ["gemini"] == list(choice.skipped)


def test_a_previous_space_is_found_by_the_names_in_its_fingerprint(tmp_path: Path) -> None:
    options = ProviderOptions(
        provider="openai",
        model="text-embedding-3-large",
        dimensions=256,
        variables=Variables({"OPENAI_API_KEY": "k" * 20}),
    )
    published = open_openai(options).fingerprint
    now = chain(tmp_path, provider="voyage", fallback=("openai",), OPENAI_API_KEY="k" * 20)

    previous = now.previous(published)

    assert not isinstance(previous, Degradation)
    assert published == previous.fingerprint


def test_a_previous_space_at_another_address_is_not_looked_for(tmp_path: Path) -> None:
    elsewhere = Fingerprint("openai", "text-embedding-3-small", 1536, "plain", "12345678")

    previous = chain(tmp_path, provider="openai", OPENAI_API_KEY="k" * 20).previous(elsewhere)

    assert isinstance(previous, Degradation)
    assert "no longer select" in previous.reason


@pytest.mark.parametrize(
    "fingerprint",
    [
        Fingerprint("openai", "BAAI/bge-m3", None, "plain", "0a1b2c3d"),
        Fingerprint("local", "recollect-embedder", 384, "86f1b67c99f3"),
        Fingerprint("ollama", "a/b/c:latest", 12, "query=x-document=y"),
    ],
)
def test_a_fingerprint_is_read_back_as_it_was_written(fingerprint: Fingerprint) -> None:
    assert fingerprint == Fingerprint.parse(str(fingerprint))


def test_an_unknown_provider_is_refused_with_the_names() -> None:
    with pytest.raises(ConfigError) as refused:
        read_setting("provider", "opneai", origin="test")

    assert "openai" in refused.value.action
