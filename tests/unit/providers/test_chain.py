"""Choosing a provider: the order, the reasons, and never another space by itself."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.vendors.gemini import GeminiFormat
from tests.vendors.server import VendorServer

from recollect.config.schema import read_setting
from recollect.errors import ConfigError, ProviderSetupError
from recollect.providers import names, registry
from recollect.providers.base import (
    EmbedsMedia,
    EmbedsPatiently,
    Media,
)
from recollect.providers.chain import Chain
from recollect.providers.keys import Variables
from recollect.providers.openai import open_openai
from recollect.providers.options import ProviderOptions, RemoteOptions
from recollect.types import Degradation, Fingerprint, Role, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path("models")


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
    return Chain(options, cache=tmp_path)


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
        choice = found.choose(None, progress=silent, retry=True)
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
    alone = chain(tmp_path).choose(None, progress=silent, retry=True).degradation
    named = chain(tmp_path, fallback=("openai", "gemini")).choose(None, progress=silent, retry=True)

    assert alone is not None
    assert "cannot be used" in alone.reason
    assert named.degradation is not None
    assert all(f"{name}: " in named.degradation.reason for name in ("local", "openai", "gemini"))
    assert "GEMINI_API_KEY" in named.degradation.reason


def test_a_complete_index_is_not_given_to_another_provider(tmp_path: Path) -> None:
    published = Fingerprint("gemini", "gemini-embedding-001", 3072, "plain")
    found = chain(tmp_path, fallback=("openai", "gemini"), OPENAI_API_KEY="k" * 20)

    choice = found.choose(published, progress=silent, retry=True)

    assert choice.provider is None
    assert ["gemini"] == list(choice.skipped)


def test_a_previous_space_is_found_by_the_names_in_its_fingerprint(tmp_path: Path) -> None:
    options = ProviderOptions(
        provider="openai",
        model="text-embedding-3-large",
        dimensions=256,
        variables=Variables({"OPENAI_API_KEY": "k" * 20}),
    )
    published = open_openai(options, cache=CACHE).fingerprint
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
        Fingerprint("local", "snowflake-arctic-embed-s", 384, "f93ff2253206"),
        Fingerprint("ollama", "a/b/c:latest", 12, "query=x-document=y"),
    ],
)
def test_a_fingerprint_is_read_back_as_it_was_written(fingerprint: Fingerprint) -> None:
    assert fingerprint == Fingerprint.parse(str(fingerprint))


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that is installed and offers a provider."""
    folder = tmp_path / "site"
    (folder / "foreign-1.0.dist-info").mkdir(parents=True)
    (folder / "foreign-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n", encoding="utf-8"
    )
    (folder / "foreign-1.0.dist-info" / "entry_points.txt").write_text(
        "[recollect.providers]\nforeign = foreign_provider:opened\nbroken = nowhere:at_all\n",
        encoding="utf-8",
    )
    (folder / "foreign_provider.py").write_text(
        """
class Mine:
    def __init__(self, options, cache):
        self.fingerprint = ("mine", options.provider, cache)
        self.seen = []

    def embed(self, texts, *, role):
        self.seen += texts

    embed_patiently = embed

    def embed_media(self, media):
        self.seen += [each.label for each in media]

    def media_tokens(self, media):
        return 0

def opened(options, *, cache):
    return Mine(options, cache)
""",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    yield "foreign"
    importlib.invalidate_caches()


def test_another_package_offers_a_provider_by_entry_point(foreign: str) -> None:
    opened = registry.open_provider(foreign, ProviderOptions(provider=foreign), cache=CACHE)
    fingerprint: object = opened.fingerprint

    assert ("mine", "foreign", CACHE) == fingerprint
    assert ("provider", "foreign") == read_setting("provider", foreign, origin="test")
    assert foreign in names.names()


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_provider_of_another_package_gets_no_secrets_unless_that_is_set(
    foreign: str, *, is_hidden: bool
) -> None:
    options = ProviderOptions(provider=foreign, remote=RemoteOptions(redact=is_hidden))
    provider = registry.open_provider(foreign, options, cache=CACHE)
    secret = "my password is Xk29fj20dkWqp"  # noqa: S105 - nobody's

    provider.embed([secret], role=Role.DOCUMENT)
    assert isinstance(provider, EmbedsPatiently)
    provider.embed_patiently([secret], role=Role.QUERY)
    assert isinstance(provider, EmbedsMedia)
    provider.embed_media([Media(secret, "image/png", b"")])
    inner: Any = getattr(provider, "_provider", provider)

    assert 3 * ["my password is ***" if is_hidden else secret] == inner.seen


def test_a_package_that_cannot_be_loaded_is_named(foreign: str) -> None:
    del foreign
    with pytest.raises(ProviderSetupError, match="nowhere"):
        registry.open_provider("broken", ProviderOptions(), cache=CACHE)


def test_an_unknown_provider_is_refused_with_the_names() -> None:
    with pytest.raises(ConfigError) as refused:
        read_setting("provider", "opneai", origin="test")

    assert "openai" in refused.value.action
