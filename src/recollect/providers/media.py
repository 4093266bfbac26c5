"""Which models embed media files: known by name, before any of them is loaded."""

from __future__ import annotations

MEDIA_MODELS = {"gemini": ("gemini-embedding-2", "gemini-embedding-2-preview")}
"""By provider, the one to recommend first."""
