"""The form in which two texts with the same words are equal, whatever their case and spacing."""

from __future__ import annotations

import unicodedata

_CLOSING = " .,;:!?…。！？；，、"
"""Punctuation at the end of a text that does not change what it says."""


def normalised(text: str) -> str:
    """Return the form that is equal for two texts with the same words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Folding may leave what normalising would compose.
    return " ".join(unicodedata.normalize("NFKC", folded).split()).rstrip(_CLOSING)
