"""Secret: where one is in a text. It does not hold the secret, so it can be shown and logged."""

from __future__ import annotations

from typing import NamedTuple


class Secret(NamedTuple):
    """The place and kind of a secret."""

    start: int
    end: int
    kind: str
    """Kind in words for people: `GitHub token`, `password`."""
    is_key: bool = False
    """True for a key of a known format: its ends tell people which key it is."""
