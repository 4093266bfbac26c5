"""Quoted phrases of a question, and whether a text contains one.

Words are compared like terms: without case, accents and English endings.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from recollect.text.patterns import deferred
from recollect.text.scripts import fold
from recollect.text.terms import phrase_terms, phrase_words
from recollect.types import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# 24" and 5'10" are inches: a quote opens before a word and closes after one.
_QUOTED = deferred(r'(?<![0-9A-Za-z])"([^"]+)"(?![0-9A-Za-z])')
MAX_PHRASES = 8
"""How many phrases of a question are required; the quotes of others are ignored."""
_MAX_TERMS = 16  # enough to find few chunks
_CACHED_FIELDS = 4096  # one question asks several legs about the same chunks
_CHANGED_BY_STEMMING = 2
"""Letters at the end of an English stem that its words may not have: `tie` is that of `tying`."""
_JOINT = "['.+#,]"
_MAX_PLAIN_CHARS = 1000
"""Of something without spaces: of what is longer only the beginning is read."""


def phrases_in(text: str) -> tuple[Phrase, ...]:
    """Return the first phrases that a question has in double quotes, each once."""
    return tuple(
        Phrase(part, words, phrase_terms(part)[:_MAX_TERMS])
        for part, words in islice(_quoted(text), MAX_PHRASES)
    )


def count_phrases(text: str) -> int:
    """Return how many phrases a question has in double quotes, also those beyond the first."""
    return sum(1 for _ in _quoted(text))


def _quoted(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a text has in double quotes, each once, and its words."""
    for part in dict.fromkeys(" ".join(part.split()) for part in _QUOTED.findall(text)):
        if words := phrase_words(part):
            yield part, words


@lru_cache(maxsize=_CACHED_FIELDS)
def contains(text: str, words: tuple[str, ...]) -> bool:
    """Return whether a text has these words of a phrase side by side."""
    return _has(fold(text), words)


def contains_all(fields: Iterable[str], phrases: Iterable[Phrase]) -> bool:
    """Return whether each phrase is in one of the fields of a chunk."""
    read = list(map(fold, fields))
    return all(_is_in(phrase, read) for phrase in phrases)


def contained(fields: Iterable[str], phrases: Iterable[Phrase]) -> list[Phrase]:
    """Return the phrases that one of the fields of a chunk contains."""
    read = list(map(fold, fields))
    return [phrase for phrase in phrases if _is_in(phrase, read)]


def _is_in(phrase: Phrase, read: Iterable[str]) -> bool:
    return any(_has(folded, phrase.words) for folded in read)


def _has(folded: str, words: tuple[str, ...]) -> bool:
    """Return whether a folded text has these words side by side.

    Reading all words of a text takes long, so only those are read where they may be.
    """
    near = _near(words)
    if near is None or not _is_plain(folded):
        return _joined(words) in _joined(phrase_words(folded))
    wanted = _joined(words)
    for found in near.finditer(folded):
        # What is between two spaces is read alike, whatever is around it.
        around = _between_spaces(folded, found.start(), found.end(1))
        if wanted in _joined(phrase_words(around)):
            return True
    return False


def _is_plain(folded: str) -> bool:
    """Tell whether a text's words have the letters of their forms: ß is also spelled ss."""
    if not folded.isascii() and ("ß" in folded or "ẞ" in folded):
        return False
    return (
        len(folded) <= _MAX_PLAIN_CHARS
        or max(map(len, folded.split()), default=0) <= _MAX_PLAIN_CHARS
    )


def _between_spaces(text: str, start: int, end: int) -> str:
    """Return a part of a text, extended to the spaces around it."""
    while start and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]


@lru_cache(maxsize=4 * MAX_PHRASES)
def _near(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that finds all places where these words may be; None if there is none.

    A word begins with its stem, but for the last two letters of that. Between the letters there may
    be what joins them (U.S.A., O'Brien) and after them the end of a contraction.
    """
    if not all(word.isascii() and word.isalpha() for word in words):
        return None
    first, *others = (
        f"{_JOINT}*".join(word[: max(1, len(word) - _CHANGED_BY_STEMMING)]) for word in words
    )
    ends = [rf"[a-z]*(?:{_JOINT}+[a-z]+){{0,{len(word) + 1}}}" for word in words]
    following = "".join(
        f"{end}[^0-9a-z]+(?:[a-z]+://)?{other}" for end, other in zip(ends, others, strict=False)
    )
    return re.compile(f"(?<![0-9a-z]){first}(?=({following}))", re.IGNORECASE)


def _joined(words: tuple[str, ...]) -> str:
    """Return words as one text, in which others side by side are found whole: none has a break."""
    return "\n".join(("", *words, ""))
