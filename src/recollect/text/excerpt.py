"""Chooses the sentence of a text that answers a question best, and cuts a text around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.terms import character_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROSE = re.compile(r"\s*(?![-*+>|#`~]|[0-9]+[.)]\s)\S")
"""The start of a line that may continue a paragraph."""
_ALONE = ("#", "|")
"""The start of a line that nothing continues."""
_TABLE_RULE = re.compile(r"\s*\|[\s|:-]*-[\s|:-]*")
"""The line below the head of a table, which says nothing without a row."""
_END = re.compile(r"""[.!?…]["')\]*_”]{0,4}\s|[。！？][」』]?""")
_ABBREVIATED = re.compile(r"approx|bzw|ca|cf|dr|fig|jr|mrs?|ms|no|nr|prof|sr|st|vs|[^\W\d_]")
"""Words and letters before a point that is mostly no end: "Dr. Kolar", "e.g. tea"."""
_UNDERLINE = re.compile(r"\s*(?:=+|--+)\s*")
_MOST_CHARS = 20_000  # beyond this a text is not written for people
_ASKED = 0.5  # what the words of a question count that the text itself asks
_ELLIPSIS = "…"


def weight_of(sentence: str, weights: Mapping[str, float]) -> float:
    """Return how much of the terms a sentence has, by weight."""
    said = set(weights.keys() & terms(sentence)) or (
        weights.keys() & character_terms(sentence).terms
    )
    return sum(map(weights.__getitem__, said)) * (_ASKED if sentence.endswith(("?", "？")) else 1.0)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, not the heads of it and its tables, with lists by entry."""
    text = text[:_MOST_CHARS]
    paragraph, at = 0, 0
    may_go_on = False
    for line in [*text.split("\n"), ""]:
        if not (may_go_on and _PROSE.match(line)):
            is_head = text.startswith("|", paragraph) and _TABLE_RULE.fullmatch(line)
            if not (is_head or text.startswith("#", paragraph)):
                yield from _divided(text[paragraph:at].strip())
            paragraph = at
        may_go_on = bool(line.strip()) and not line.lstrip().startswith(_ALONE)
        at += len(line) + 1


def _divided(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(paragraph):
        word = re.split(r"\W", paragraph[max(end.start() - 7, start) : end.start()])[-1].lower()
        if end[0][0] != "." or not _ABBREVIATED.fullmatch(word):
            yield paragraph[start : end.end()].strip()
            start = end.end()
    if any(map(str.isalnum, paragraph[start:])):
        yield paragraph[start:]


def without_headings(text: str, heading: Sequence[str]) -> str:
    """Return a text without the headings that its heading path has, unless it says nothing else."""
    titles = {_letters(title) for title in heading}
    lines = text.split("\n")
    kept, is_underline = [], False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        is_heading = line.startswith("#") or _UNDERLINE.fullmatch(below) is not None
        is_shown = is_heading and _letters(line) in titles
        if not (is_shown or is_underline):
            kept.append(line)
        is_underline = is_shown and not line.startswith("#")
    return "\n".join(kept).strip("\n") or text


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def excerpt(text: str, *, sentence: str, most_chars: int) -> str:
    """Return a text, or whole lines from that of a sentence on, or what fits of one long line."""
    if len(text) <= most_chars:
        return text
    at = max(text.find(sentence), 0)
    room = most_chars - 2 * len(_ELLIPSIS)
    line = text.rfind("\n", 0, at) + 1
    # At the end of the text there is room for lines above.
    start = min(line, text.find("\n", len(text) - room) + 1 or line)
    start = start if at + len(sentence) - start <= room else at
    end = len(text) if len(text) - start <= room else text.rfind("\n", start, start + room)
    if end < at + len(sentence):
        space = text.rfind(" ", start, start + room)
        end = space if space > start else start + room
    head = _ELLIPSIS if start and text[start - 1] != "\n" else ""
    tail = _ELLIPSIS if end < len(text) and text[end] != "\n" else ""
    return f"{head}{text[start:end]}{tail}"
