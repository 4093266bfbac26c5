"""Removes from a message what neither speaker said: blocks that agents and plugins inject.

Above all recalled memory: a search result must not be found again as if somebody had said it.
Strangers write messages, so every function runs in time proportional to their length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.safe import OWN_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable

_GAP = "\n"
"""Replaces a removed block, so that the text around it cannot join into another block."""

_INTERNAL = re.compile("<<<(BEGIN|END)_OPENCLAW_INTERNAL_CONTEXT>>>")
_INTERNAL_ALONE = re.compile(
    r"^[ \t]*(<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>)[ \t\r]*$", re.MULTILINE
)

_BLOB = re.compile(r"data:[\w.+/-]{1,64};base64,[A-Za-z0-9+/=_-]*")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = re.compile("[\u200b\u2060\ufeff]")


def tag_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of opening and closing tags with these names, for `without_blocks`."""
    either = "|".join(map(re.escape, names))
    return re.compile(rf"<(/?)({either})(?:[ \t][^<>\n]*)?>")


RECALLED = tag_pattern((
    OWN_BLOCK, "relevant-memories", "recalled-context", "active_memory_plugin",
    "claude-mem-context", "supermemory-context", "hindsight_memories", "system-reminder",
))  # fmt: skip
"""Blocks of recalled memory and reminders, whichever program injected them."""


def without_blocks(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text without the blocks between matching tags; a tag without its partner stays."""
    open_tags: dict[str, list[int]] = {}
    spans: list[tuple[int, int]] = []
    for tag in pattern.finditer(text):
        closing, name = tag.groups()
        if not closing:
            open_tags.setdefault(name, []).append(tag.start())
        elif starts := open_tags.get(name):
            spans.append((starts.pop(), tag.end()))
    return _without(text, spans)


def said(text: str) -> str:
    """Return a message on one line, without the memory and reminders that programs inject."""
    return flatten(without_blocks(text, RECALLED))


def without_internal_context(text: str) -> str:
    """Return the text without what OpenClaw fences as internal; an open fence removes the rest."""
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    for fence in _INTERNAL.finditer(text):
        if fence[1] == "BEGIN":
            starts.append(fence.start())
        elif starts:
            spans.append((starts.pop(), fence.end()))
        else:
            spans.append(fence.span())
    alone = {fence.start(1) for fence in _INTERNAL_ALONE.finditer(text)} if starts else set()
    spans += [(start, len(text)) for start in starts if start in alone]
    return _without(text, spans)


def flatten(text: str) -> str:
    """Return the text on one line: single spaces, no control characters, no embedded images."""
    if "base64," in text:
        text = _BLOB.sub(" ", text)
    text = _CONTROL.sub(" ", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", _LONE_SURROGATE.sub("\ufffd", text))
    return " ".join(text.split())


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return text
    kept: list[str] = []
    reached = 0
    for start, end in sorted(spans):
        if start >= reached:
            kept.append(text[reached:start])
        reached = max(reached, end)
    return _GAP.join([*kept, text[reached:]])
