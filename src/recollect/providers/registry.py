"""The providers by name: one row each, loaded only when chosen.

Others register a function `(options, *, cache) -> Provider` under the entry point group
`recollect.providers`.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, cast

from recollect.errors import ProviderSetupError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.providers.base import Provider, ProviderOptions

NONE = "none"
AUTO = "auto"
AUTO_CHAIN = ("local", "openai", "gemini", "voyage", "mistral")
"""Tried in this order when the provider is `auto`."""
ENTRY_POINTS = "recollect.providers"

_ROWS = {
    "local": "recollect.providers.local:open_local",
    "multilingual": "recollect.providers.multilingual:open_multilingual",
    "openai": "recollect.providers.openai:open_openai",
    "gemini": "recollect.providers.gemini:open_gemini",
    "voyage": "recollect.providers.voyage:open_voyage",
    "mistral": "recollect.providers.mistral:open_mistral",
    "ollama": "recollect.providers.ollama:open_ollama",
}

NAMES = (AUTO, *_ROWS, NONE)


def names() -> tuple[str, ...]:
    """Return every name that can be set, those of other packages too."""
    others = metadata.entry_points(group=ENTRY_POINTS)
    return (*NAMES, *sorted(others.names - set(NAMES)))


def open_provider(name: str, options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the named provider, not yet prepared.

    Raises:
        ProviderSetupError: a package that offers it is gone or cannot be loaded.

    """
    if name in _ROWS:
        module, _, function = _ROWS[name].partition(":")
        opener = getattr(import_module(module), function)
    else:
        opener = _foreign(name)
    return cast("Callable[..., Provider]", opener)(options, cache=cache)


def _foreign(name: str) -> object:
    for row in metadata.entry_points(group=ENTRY_POINTS, name=name):
        try:
            return row.load()
        except (ImportError, AttributeError) as error:
            raise ProviderSetupError(
                f"The provider {name} of the package at {row.value} cannot be loaded ({error}).",
                action="Reinstall that package, or choose another provider.",
            ) from error
    raise ProviderSetupError(
        f"There is no provider {name}.",
        action=f"Install the package that offers it, or choose one of {', '.join(NAMES)}.",
    )
