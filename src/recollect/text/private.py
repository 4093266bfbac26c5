"""Leaves out what a text marks as private: what stands between `<private>` and `</private>`.

Threat: what is hidden must not come out by a mistake in the text. A tag that is never closed hides
everything after it, and of nested ones the last counts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.text.tags import open_fences

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENS = re.compile(r"<private\s{0,9}>", re.IGNORECASE)
_MARK = re.compile(
    r"(?<!`)(?P<ticks>`{1,2})[^`\n]+(?P=ticks)(?!`)|<(?P<closes>/?)private\s{0,9}>", re.IGNORECASE
)
"""Inline code, or a tag; a tag in code is text."""


def without_private(text: str) -> str:
    """Return a text without its private parts; every line keeps its number."""
    return "\n".join(_shown(text.split("\n"))) if _OPENS.search(text) else text


def _shown(lines: list[str]) -> Iterator[str]:
    depth = 0
    for line, fences in zip(lines, pairwise(open_fences(lines)), strict=True):
        if any(fences):
            yield "" if depth else line
            continue
        kept, start = "", 0
        for mark in _MARK.finditer(line):
            if mark["ticks"]:
                continue
            if not depth:
                kept += line[start : mark.start()]
            depth = max(0, depth - 1) if mark["closes"] else depth + 1
            start = mark.end()
        yield kept if depth else kept + line[start:]
