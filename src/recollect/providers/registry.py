"""The providers by name: one row each, loaded only when chosen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.providers.base import Provider, ProviderOptions

NONE = "none"
AUTO = "auto"
AUTO_CHAIN = ("local",)
"""Tried in this order when the provider is `auto`."""

_ROWS = {
    "local": "recollect.providers.local:open_local",
}

NAMES = (AUTO, *_ROWS, NONE)


def open_provider(name: str, options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the named provider, not yet prepared."""
    module, _, function = _ROWS[name].partition(":")
    opener = cast("Callable[..., Provider]", getattr(import_module(module), function))
    return opener(options, cache=cache)
