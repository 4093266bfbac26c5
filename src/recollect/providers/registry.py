"""Opens providers and language models by name; each is imported only when chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from recollect.errors import ProviderSetupError
from recollect.providers import names
from recollect.providers.names import CHAT_NAMES, CHATS, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.providers.base import Chat, Provider
    from recollect.providers.options import ChatOptions, ProviderOptions


def open_provider(name: str, options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the named provider, not yet prepared.

    Raises:
        ProviderSetupError: the package that offers it is missing or cannot be loaded.

    """
    if name in names.PROVIDERS:
        return cast("Callable[..., Provider]", _load(names.PROVIDERS[name]))(options, cache=cache)
    opened = cast("Callable[..., Provider]", _load_foreign(name))(options, cache=cache)
    if not options.remote.redact:
        return opened
    from recollect.providers.plugins import redacting  # noqa: PLC0415 - hardly ever needed

    return redacting(opened)  # nobody knows whether it sends its texts to a server


def open_chat(options: ChatOptions) -> Chat:
    """Return the language model of the named provider; nothing is sent.

    Raises:
        ProviderSetupError: no provider is set, or it does not exist.

    """
    if options.provider is None:
        raise _no_chat()
    if options.provider not in CHATS:
        raise ProviderSetupError(
            f"The provider {options.provider!r} has no language model.",
            action=f"Set llm.provider to one of {', '.join(CHAT_NAMES)}.",
        )
    return cast("Callable[..., Chat]", _load(CHATS[options.provider]))(options)


def prepared_chat(chat: Chat | None) -> Chat:
    """Return the configured chat once it is ready to be asked.

    Raises:
        ProviderSetupError: no language model is configured, or its key is missing.

    """
    if chat is None:
        raise _no_chat()
    chat.prepare()
    return chat


def _no_chat() -> ProviderSetupError:
    return ProviderSetupError(
        "No language model is set.",
        action=f"`recollect config set llm.provider NAME` sets one: {', '.join(CHAT_NAMES)}.",
    )


def _load(row: str) -> object:
    module, _, function = row.partition(":")
    return getattr(import_module(module), function)


def _load_foreign(name: str) -> object:
    for row in names.entry_points().select(name=name):
        try:
            return row.load()
        except (ImportError, AttributeError) as error:
            raise ProviderSetupError(
                f"The provider {name} of the package at {row.value} cannot be loaded ({error}).",
                action="Reinstall that package, or choose another provider.",
            ) from error
    raise ProviderSetupError(
        f"The provider {name} does not exist.",
        action=f"Install the package that offers it, or choose one of {', '.join(NAMES)}.",
    )
