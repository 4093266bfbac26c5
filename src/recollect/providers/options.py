"""Which models there are, one row per name, which to use and how to reach it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from recollect.providers.keys import Variables, key_reference
from recollect.records import dataclass
from recollect.text.setting import (
    number,
    one_of,
    optional,
    path,
    plain,
    some_of,
    switch,
    url,
    user_setting,
    whole,
)

if TYPE_CHECKING:
    from pathlib import Path

NONE = "none"
AUTO = "auto"
"""The local models; no other provider unless `fallback` names it."""
LOCAL = "local"
"""The one provider that sends no text anywhere."""

PROVIDERS = {
    LOCAL: "recollect.providers.local:open_local",
    "openai": "recollect.providers.openai:open_openai",
    "gemini": "recollect.providers.gemini:open_gemini",
    "voyage": "recollect.providers.voyage:open_voyage",
    "mistral": "recollect.providers.mistral:open_mistral",
    "ollama": "recollect.providers.ollama:open_ollama",
}
CHATS = {
    "openai": "recollect.providers.openai:OpenAiChatApi",
    "anthropic": "recollect.providers.anthropic:AnthropicChatApi",
    "gemini": "recollect.providers.gemini:GeminiChatApi",
    "ollama": "recollect.providers.ollama:OllamaChatApi",
}

NAMES = (AUTO, *PROVIDERS, NONE)
CHAT_NAMES = tuple(CHATS)
MEDIA_MODELS = {"gemini": ("gemini-embedding-2", "gemini-embedding-2-preview")}
"""Models that embed media files, by provider; the recommended one first."""


def _fallback(value: object) -> tuple[str, ...]:
    if value in ("", [], ()):
        return ()
    return some_of(PROVIDERS)(value)


def _redact() -> bool:
    """Return the field of the one setting that embedding and language models share."""
    about = "mask keys and passwords in texts that are sent"
    return user_setting("redact", True, switch, about)


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How to reach a server that embeds."""

    base_url: str | None = user_setting(
        "remote.base_url",
        None,
        optional(url),
        "address of a server that speaks the provider's format",
    )
    api_key: str | None = user_setting(
        "remote.api_key",
        None,
        optional(key_reference),
        "variable that holds the key, as env:NAME; unset: the vendor's own variable",
        secret=True,
    )
    query_input_type: str | None = user_setting(
        "remote.query_input_type",
        None,
        optional(plain),
        "input_type of questions, for compatible servers that need one",
    )
    document_input_type: str | None = user_setting(
        "remote.document_input_type",
        None,
        optional(plain),
        "input_type of notes, for compatible servers that need one",
    )
    timeout_seconds: float = user_setting(
        "remote.timeout_seconds", 60.0, number(0.1, 3600), "time limit of one request"
    )
    batch: bool = user_setting(
        "remote.batch",
        False,
        switch,
        "use openai's or voyage's batch API for large runs: about half the price, done in a day",
    )
    redact: bool = _redact()
    section: ClassVar = "remote"
    """Section of these settings, for messages."""
    model_setting: ClassVar = "model"


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Which provider to use, and how."""

    provider: str = user_setting("provider", AUTO, one_of(NAMES), "provider that embeds texts")
    fallback: tuple[str, ...] = user_setting(
        "fallback",
        (),
        _fallback,
        "providers to try in order if the first fails on a new index, each with its default model",
    )
    model: str | None = user_setting(
        "model", None, optional(plain), "unset: the provider's default"
    )
    dimensions: int | None = user_setting(
        "dimensions",
        None,
        optional(whole(1, 100_000)),
        "length of vectors, if the model offers a choice; unset: its default",
    )
    model_path: Path | None = user_setting(
        "local.model_path",
        None,
        optional(path),
        "folder with the files of an ONNX model, or a GGUF file",
    )
    remote: RemoteOptions = field(default_factory=RemoteOptions)
    variables: Variables = field(default_factory=Variables)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Which language model to ask, and how to reach it."""

    provider: str | None = user_setting(
        "llm.provider",
        None,
        optional(one_of(CHAT_NAMES)),
        f"language model for ingest, hyde and expand: {', '.join(CHAT_NAMES)}",
    )
    model: str | None = user_setting(
        "llm.model", None, optional(plain), "unset: the provider's default"
    )
    base_url: str | None = user_setting(
        "llm.base_url", None, optional(url), "address of a server that speaks the provider's format"
    )
    api_key: str | None = user_setting(
        "llm.api_key",
        None,
        optional(key_reference),
        "variable that holds the key, as env:NAME; unset: the vendor's own variable",
        secret=True,
    )
    redact: bool = _redact()
    timeout_seconds: float = 120.0
    """Seconds for one request, which includes writing the whole reply."""
    variables: Variables = field(default_factory=Variables)
    section: ClassVar = "llm"
    model_setting: ClassVar = "llm.model"
