"""Finds the secrets of a text: by format, by place, by name. Overlapping ones become one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.secrets.names import ASCII_CUES, OTHER_CUES, find_named
from recollect.text.secrets.places import PLACE_CUES, find_cued, find_placed, paired
from recollect.text.secrets.shapes import find_shapes
from recollect.text.secrets.values import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Secret", "find_secrets"]

_ASCII_CUE = re.compile(f"{ASCII_CUES}|cookie")
_ANY_CUE = re.compile(f"{ASCII_CUES}|cookie|{OTHER_CUES}")
_PLACE_CUES = frozenset(PLACE_CUES.split("|"))


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text in order; they do not overlap."""
    keys = find_shapes(text)
    found = [*keys, *find_placed(text), *_find_cued(text)]
    for key in keys:
        found += paired(text, key)
    if not found:
        return []
    joined: list[Secret] = []
    for secret in sorted(found, key=lambda each: (each.start, -each.end, not each.is_key)):
        last = joined[-1] if joined else None
        if last is None or secret.start >= last.end:
            joined.append(secret)
        elif secret.end > last.end:
            joined[-1] = Secret(last.start, secret.end, last.kind)
    return joined


def _find_cued(text: str) -> Iterator[Secret]:
    reached = 0
    cues = _ASCII_CUE if text.isascii() else _ANY_CUE
    for cue in cues.finditer(_lowered(text)):
        if cue.start() < reached:
            continue  # inside a secret
        secret = None
        if cue[0] in _PLACE_CUES:
            secret = find_cued(text, cue[0], cue.start())
        if secret is None:
            secret = find_named(text, cue.end())
        if secret is not None:
            reached = secret.end
            yield secret


def _lowered(text: str) -> str:
    """Return the text in lower case, character by character."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
