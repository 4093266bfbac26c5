"""Finds notes that say nothing but what a better hit says, so that they take no place of their own.

All words of one, in order, are in the other, but for case, markup, articles and inflections: the
one word that differs may be a number, a name or a denial. Shares of common words and vectors cannot
tell those from a copy: docs/decisions/ranking.md. Facts have their own rules.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from recollect.text.scripts import fold, stem
from recollect.types import SourceKind

if TYPE_CHECKING:
    from recollect.types import Chunk

LONG_WORDS = 30
"""Words from which a text says the same under any heading, and inside a longer text."""
COMPARED = 100
"""Rows of a ranking that are compared; copies rank next to each other."""

_HEADINGS = re.compile(r"(?:\s*#{1,6}[ \t][^\n]*(?:\n|\Z))+")
_LINE_MARKUP = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?:[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+)?", re.MULTILINE
)
_TOKEN = re.compile(
    r"\[[ xX]\](?=\s)"  # done or not
    r"|(?<![\w.,)\]])[-+](?=\.?\d)"  # sign of a number
    r"|~~|[<>!=]=|\?"  # struck out, comparison, question
    r"|\w+(?:[.,:/](?=\d)\w+)*[+#]*"
    r"|[^\w\s.,;:!'\"`´()\[\]{}*_#|/\\~–—…-]"  # a symbol that is not markup: % $ < = →
)
_WORD = re.compile(r"[^\W_]+")
_SAMPLED_CHARS = 300
_SAMPLE_CHARS = 5  # of the longest word, without what inflection changes
_ARTICLES = frozenset({"a", "an", "the"})


class Originals:
    """The chunks shown so far, and what they say."""

    def __init__(self) -> None:
        self._chunks: dict[int, tuple[Chunk, str]] = {}

    def add(self, row: int, chunk: Chunk) -> None:
        """Add a chunk that has its own place, or is part of one."""
        if _may_repeat(chunk):
            self._chunks[row] = (chunk, chunk.text.casefold())

    def may_hold(self, text: str) -> bool:
        """Return whether any of them may say all that a text says: a cheap first test."""
        return bool(self._near(text))

    def repeated_by(self, chunk: Chunk) -> int | None:
        """Return the row of the first chunk that says all that this one says."""
        near = self._near(chunk.text)
        if not near or not _may_repeat(chunk):
            return None
        heading, body = _wordings(chunk)
        is_long = body.count(" ") > LONG_WORDS
        for row in near:
            other_heading, other = _wordings(self._chunks[row][0])
            if (body in other) if is_long else (heading, body) == (other_heading, other):
                return row
        return None

    def _near(self, text: str) -> list[int]:
        sample = ""
        if len(text) >= _SAMPLED_CHARS:
            longest = max(text.split()[1:-1], key=len, default="")
            word = _WORD.search(longest.casefold())
            sample = word[0][:_SAMPLE_CHARS] if word else ""
        return [row for row, (_, said) in self._chunks.items() if sample in said]


def _may_repeat(chunk: Chunk) -> bool:
    if chunk.source is SourceKind.FACTS or chunk.media:
        return False
    # The answer to a question in a transcript is elsewhere, and may be another one each time.
    return not (chunk.speaker == "user" and "?" in chunk.text)


def _wordings(chunk: Chunk) -> tuple[str, str]:
    """Return the words of a chunk's headings and of its text, each between spaces."""
    opening = _HEADINGS.match(chunk.text)
    body = chunk.text[opening.end() :] if opening else chunk.text
    return wording("\n".join(chunk.heading)), wording(body)


@lru_cache(maxsize=1 << 11)  # a process that stays sees the same texts again: at most 8 MB
def wording(text: str) -> str:
    """Return the words of a text that count, in the form that inflections share, between spaces."""
    found = (_word(token) for token in _TOKEN.findall(_LINE_MARKUP.sub("", fold(text))))
    return f" {' '.join(word for word in found if word)} "


@lru_cache(maxsize=1 << 15)
def _word(token: str) -> str:
    """Return the form that inflections share; `lived` is not `lives`. Articles are empty."""
    word = token.casefold()
    if word in _ARTICLES:
        return ""
    return word if word.endswith("ed") else stem(word)
