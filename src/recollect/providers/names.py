"""The names of providers and language models, and where each is: one row per name.

Other packages register a function `(options, *, cache) -> Provider` under the entry point group
`recollect.providers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

NONE = "none"
AUTO = "auto"
"""The local model; no other provider unless `fallback` names it."""
LOCAL = "local"
ON_THIS_MACHINE = (LOCAL, "multilingual")
"""Providers that send no text anywhere."""
ENTRY_POINTS = "recollect.providers"

PROVIDERS = {
    LOCAL: "recollect.providers.local:open_local",
    "multilingual": "recollect.providers.multilingual:open_multilingual",
    "openai": "recollect.providers.openai:open_openai",
    "gemini": "recollect.providers.gemini:open_gemini",
    "voyage": "recollect.providers.voyage:open_voyage",
    "mistral": "recollect.providers.mistral:open_mistral",
    "ollama": "recollect.providers.ollama:open_ollama",
}
CHATS = {
    "openai": "recollect.providers.openai:open_openai_chat",
    "anthropic": "recollect.providers.anthropic:open_anthropic_chat",
    "gemini": "recollect.providers.gemini:open_gemini_chat",
    "ollama": "recollect.providers.ollama:open_ollama_chat",
}

NAMES = (AUTO, *PROVIDERS, NONE)
CHAT_NAMES = tuple(CHATS)
MEDIA_MODELS = {"gemini": ("gemini-embedding-2", "gemini-embedding-2-preview")}
"""Models that embed media files, by provider; the recommended one first."""


def names() -> tuple[str, ...]:
    """Return every provider name that can be set, including those of other packages."""
    others = entry_points()
    return (*NAMES, *sorted(others.names - set(NAMES)))


def entry_points() -> EntryPoints:
    """Return what other packages offer."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, and hardly ever needed

    return metadata.entry_points(group=ENTRY_POINTS)
