"""Opens providers and language models by name; each is imported only when chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from recollect.errors import ProviderSetupError
from recollect.providers.options import CHAT_NAMES, CHATS, PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.providers.base import Chat, Provider
    from recollect.providers.options import ChatOptions, ProviderOptions
    from recollect.providers.remote.chat import ChatApi


def open_provider(name: str, options: ProviderOptions) -> Provider:
    """Return the named provider, not yet prepared."""
    return cast("Callable[..., Provider]", _load(PROVIDERS[name]))(options)


def open_chat(options: ChatOptions) -> Chat:
    """Return the language model of the named provider; nothing is sent."""
    from recollect.providers.remote.chat import RemoteChat  # noqa: PLC0415 - few ask one

    if options.provider not in CHATS:
        raise _no_chat(options.provider)
    api = cast("type[ChatApi]", _load(CHATS[options.provider]))(options)
    return RemoteChat(api, options=options)


def prepared_chat(chat: Chat | None) -> Chat:
    """Return the configured chat once it is ready to be asked."""
    if chat is None:
        raise _no_chat(None)
    chat.prepare()
    return chat


def _no_chat(provider: str | None) -> ProviderSetupError:
    return ProviderSetupError(
        f"The provider {provider!r} has no language model."
        if provider
        else "No language model is set.",
        action=f"`recollect config set llm.provider NAME` sets one: {', '.join(CHAT_NAMES)}.",
    )


def _load(row: str) -> object:
    module, _, function = row.partition(":")
    return getattr(import_module(module), function)
