"""The protocol of language models that write, and the options of choosing one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from recollect.providers.chat.table import CHAT_NAMES
from recollect.providers.keys import Variables, key_reference
from recollect.text.setting import one_of, optional, plain, url, user_setting

_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Which language model to ask, and how it is reached."""

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
    """None is the vendor's own, or what its environment variable names."""
    api_key: str | None = user_setting(
        "llm.api_key",
        None,
        optional(key_reference),
        "variable that holds the key, as env:NAME; unset: the vendor's own variable",
        secret=True,
    )
    timeout_seconds: float = 120.0
    """One request; a whole answer has to be written in it."""
    section: str = "llm"
    """The settings that messages send the reader to, as in `llm.base_url`."""
    variables: Variables = field(default_factory=Variables)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million tokens, as published in autumn 2026: an estimate, not a bill."""

    input: float
    output: float

    def of(self, *, input_tokens: int, output_tokens: int) -> float:
        """Return US dollars for so many tokens."""
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote."""

    text: str
    """May be empty: some models spend all they are allowed on thinking."""
    input_tokens: int | None
    output_tokens: int | None
    """As the vendor counts them, thoughts too; None where it does not say."""
    is_cut: bool
    """True when the model was not done: the limit of tokens came first."""


class Chat(Protocol):
    """Writes a text for a prompt. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Return the provider's name."""

    @property
    def model(self) -> str:
        """Return the model's name."""

    @property
    def price(self) -> Price | None:
        """Return the price; None where nothing is paid or no price is known."""

    def prepare(self) -> None:
        """See that there is what asking needs; nothing is asked.

        Raises:
            ProviderSetupError: the key is missing or cannot be sent.

        """

    def complete(
        self, prompt: str, *, system: str = "", max_tokens: int, temperature: float, seconds: float
    ) -> Completion:
        """Return what the model writes.

        Args:
            prompt: what the user says.
            system: what stands above it.
            max_tokens: the most it may write.
            temperature: left out for models that know none.
            seconds: all attempts together; looking up a host's name may take longer.

        Raises:
            RequestRefusedError: the model or the server will not answer this.
            ProviderError: and its other kinds: there is no answer.

        """

    def close(self) -> None:
        """Release what asking holds; whoever waits in `complete` stops waiting."""
