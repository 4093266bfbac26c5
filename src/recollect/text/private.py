"""Says what a text keeps private: `<private>` to `</private>`, or all of it by its front matter.

Threat: what is hidden must not come out by a mistake in the text. A tag that is never closed hides
everything after it, of nested ones the last counts, and what is in doubt is private.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.tags import open_fences

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n?|\n")
_FIELD = re.compile(
    r"(?:^|[{,])[^\S\n]*(?:[?-][^\S\n]+)?[\"']?private[\"']?\s*[:\uff1a](?P<value>.*)"
    r"(?=(?:\n(?:#.*|[^\S\n]*(?:#(?!\S).*)?)(?=\n|$))*(?:\n(?![^\s\[{-].*[:\uff1a])(?P<below>.*))?)",
    re.IGNORECASE | re.MULTILINE,
)
_COMMENT = re.compile(r"(?<!\S)#(?!\S).*|(?<=[\w\"'])\s+#.*")
_NO = re.compile(r"([\"']?)(?:false|no|n|off|0|null|~|)\1", re.IGNORECASE)
_OPENS = re.compile(r"<private\s{0,9}>", re.IGNORECASE)
_MARK = re.compile(
    r"(?<!`)(?P<ticks>`{1,2})[^`\n]+(?P=ticks)(?!`)|<(?P<closes>/?)private\s{0,9}>", re.IGNORECASE
)
"""Inline code, or a tag; a tag in code is text."""
_HTML = re.compile(r"^[ \t>]*<(?!/?private)[!?/a-z]", re.IGNORECASE | re.MULTILINE)
"""HTML, in which a fence begins no code."""


def is_private(text: str) -> bool:
    """Return whether front matter makes a text private, even if not all of it can be read."""
    opener, *lines = (line.rstrip() for line in _LINE_END.split(text.lstrip("\ufeff")))
    if opener != "---":
        return False
    ends = [lines.index(end) for end in ("---", "...") if end in lines]
    top = "\n".join(lines[: min(ends or [[*lines, ""].index("")])])
    # What a field says may be on the next line, unless that is another field.
    return not all(
        _NO.fullmatch(
            _COMMENT.sub("", found["value"]).strip()
            or _COMMENT.sub("", found["below"] or "").strip()
        )
        for found in _FIELD.finditer(top)
    )


def without_private(text: str) -> str:
    """Return a text without its private parts; every line keeps its number."""
    return "\n".join(_shown(text)) if _OPENS.search(text) else text


def _shown(text: str) -> Iterator[str]:
    lines = text.split("\n")
    fences = open_fences(lines)
    # It is surely code only in no list, quotation or HTML, and where it is closed.
    alone = (line if line[:1] in {"`", "~"} else "" for line in lines)
    sure = [""] if _HTML.search(text) else open_fences(alone)
    while sure[-1]:
        sure.pop()
    sure += [""] * (len(fences) - len(sure))
    depth = opened_at = fence_at = 0
    for at, line in enumerate(lines):
        in_code = bool(fences[at] or fences[at + 1])
        if in_code and not fences[at]:
            fence_at = at
        if in_code and (sure[at] or sure[at + 1]):
            yield "" if depth else line
            continue
        kept, start = "", 0
        for mark in _MARK.finditer(line):
            if mark["ticks"] or (mark["closes"] and in_code and opened_at < fence_at):
                continue
            if not depth:
                kept += line[start : mark.start()]
                opened_at = at
            depth = max(0, depth - 1) if mark["closes"] else depth + 1
            start = mark.end()
        yield kept if depth else kept + line[start:]
