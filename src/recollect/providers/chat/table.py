"""The language models by provider: one row each, loaded only when chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from recollect.errors import ProviderSetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.chat.base import Chat, ChatOptions

_ROWS = {
    "openai": "recollect.providers.chat.openai:open_openai_chat",
    "anthropic": "recollect.providers.chat.anthropic:open_anthropic_chat",
    "gemini": "recollect.providers.chat.gemini:open_gemini_chat",
    "ollama": "recollect.providers.chat.ollama:open_ollama_chat",
}

CHAT_NAMES = tuple(_ROWS)


def open_chat(options: ChatOptions) -> Chat:
    """Return the chat of the provider named, not yet prepared; nothing is asked.

    Raises:
        ProviderSetupError: none is set, or there is no such provider.

    """
    if options.provider is None:
        raise ProviderSetupError(
            "No language model is set.",
            action=f"`recollect config set {options.section}.provider NAME` sets one: "
            f"{', '.join(CHAT_NAMES)}.",
        )
    if options.provider not in _ROWS:
        raise ProviderSetupError(
            f"There is no language model under the name {options.provider!r}.",
            action=f"Set {options.section}.provider to one of {', '.join(CHAT_NAMES)}.",
        )
    module, _, function = _ROWS[options.provider].partition(":")
    opener = cast("Callable[[ChatOptions], Chat]", getattr(import_module(module), function))
    return opener(options)


def prepared_chat(chat: Chat | None) -> Chat:
    """Return the configured chat once it is ready to be asked.

    Raises:
        ProviderSetupError: no language model is configured, or its key is missing.

    """
    if chat is None:
        raise ProviderSetupError(
            "No language model is set.",
            action="`recollect config set llm.provider NAME` sets one: openai, anthropic,"
            " gemini or ollama.",
        )
    chat.prepare()
    return chat
