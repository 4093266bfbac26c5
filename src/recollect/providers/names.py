"""The names of providers and language models, and where each is: one row per name."""

from __future__ import annotations

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
    "openai": "recollect.providers.openai:open_openai_chat",
    "anthropic": "recollect.providers.anthropic:open_anthropic_chat",
    "gemini": "recollect.providers.gemini:open_gemini_chat",
    "ollama": "recollect.providers.ollama:open_ollama_chat",
}

NAMES = (AUTO, *PROVIDERS, NONE)
CHAT_NAMES = tuple(CHATS)
MEDIA_MODELS = {"gemini": ("gemini-embedding-2", "gemini-embedding-2-preview")}
"""Models that embed media files, by provider; the recommended one first."""
