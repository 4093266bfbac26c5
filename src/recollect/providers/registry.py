"""Providers and language models by name: one row each, imported only when chosen.

Other packages register a function `(options, *, cache) -> Provider` under the entry point group
`recollect.providers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from recollect.errors import ProviderSetupError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoints
    from pathlib import Path

    from recollect.providers.base import Chat, Provider
    from recollect.providers.options import ChatOptions, ProviderOptions

NONE = "none"
AUTO = "auto"
"""The local model; no other provider unless `fallback` names it."""
LOCAL = "local"
ON_THIS_MACHINE = (LOCAL, "multilingual")
"""Providers that send no text anywhere."""
ENTRY_POINTS = "recollect.providers"

_PROVIDERS = {
    LOCAL: "recollect.providers.local:open_local",
    "multilingual": "recollect.providers.multilingual:open_multilingual",
    "openai": "recollect.providers.openai:open_openai",
    "gemini": "recollect.providers.gemini:open_gemini",
    "voyage": "recollect.providers.voyage:open_voyage",
    "mistral": "recollect.providers.mistral:open_mistral",
    "ollama": "recollect.providers.ollama:open_ollama",
}
_CHATS = {
    "openai": "recollect.providers.openai:open_openai_chat",
    "anthropic": "recollect.providers.anthropic:open_anthropic_chat",
    "gemini": "recollect.providers.gemini:open_gemini_chat",
    "ollama": "recollect.providers.ollama:open_ollama_chat",
}

NAMES = (AUTO, *_PROVIDERS, NONE)
CHAT_NAMES = tuple(_CHATS)
MEDIA_MODELS = {"gemini": ("gemini-embedding-2", "gemini-embedding-2-preview")}
"""Models that embed media files, by provider; the recommended one first."""


def names() -> tuple[str, ...]:
    """Return every provider name that can be set, including those of other packages."""
    others = _entry_points()
    return (*NAMES, *sorted(others.names - set(NAMES)))


def _entry_points() -> EntryPoints:
    from importlib import metadata  # noqa: PLC0415 - slow to load, and hardly ever needed

    return metadata.entry_points(group=ENTRY_POINTS)


def open_provider(name: str, options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the named provider, not yet prepared.

    Raises:
        ProviderSetupError: the package that offers it is missing or cannot be loaded.

    """
    if name in _PROVIDERS:
        return cast("Callable[..., Provider]", _load(_PROVIDERS[name]))(options, cache=cache)
    opened = cast("Callable[..., Provider]", _load_foreign(name))(options, cache=cache)
    if not options.remote.redact:
        return opened
    from recollect.providers.redacting import redacting  # noqa: PLC0415 - hardly ever needed

    return redacting(opened)  # nobody knows whether it sends its texts to a server


def open_chat(options: ChatOptions) -> Chat:
    """Return the language model of the named provider; nothing is sent.

    Raises:
        ProviderSetupError: no provider is set, or it does not exist.

    """
    if options.provider is None:
        raise _no_chat()
    if options.provider not in _CHATS:
        raise ProviderSetupError(
            f"The provider {options.provider!r} has no language model.",
            action=f"Set llm.provider to one of {', '.join(CHAT_NAMES)}.",
        )
    return cast("Callable[..., Chat]", _load(_CHATS[options.provider]))(options)


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
    for row in _entry_points().select(name=name):
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
