"""Which words of a text a question found: those that have one of its terms, in whatever form."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from recollect.text.scripts import fold
from recollect.text.terms import character_terms, is_unspaced, query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD_CATEGORIES = "LMN"  # letters, marks, numbers
_CACHED_CHARS = 4096
_JOINTS = ("", *"-_./:@'’")
"""What may stand between the words of one name."""


def matched_words(text: str, *, question: str) -> tuple[str, ...]:
    """Return the words of a text, as written there, that share a term with the question.

    Words without a topic, such as "the", count only if the question has no others.
    """
    # As the search does: single characters only where no pair of them is found.
    asked = query_terms(question)
    wanted = frozenset(asked.terms) - asked.stop or frozenset(asked.terms)
    spans = matched_spans(text, wanted) or matched_spans(
        text, frozenset(character_terms(question).terms)
    )
    return tuple(dict.fromkeys(text[start:end] for start, end in spans))


def matched_spans(text: str, wanted: frozenset[str]) -> list[tuple[int, int]]:
    """Return where the words stand that have a wanted term, those of `PROJ-123` as one."""
    spans: list[tuple[int, int]] = []
    if not wanted:
        return spans
    for start, end in _matches(text, wanted):
        if spans and text[spans[-1][1] : start] in _JOINTS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _matches(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for kind, chars in groupby(text, key=_kind):
        run = "".join(chars)
        if kind == "unspaced":
            yield from _matched_parts(run, wanted, offset=at)
        elif kind == "word" and not wanted.isdisjoint(terms(run)):
            yield at, at + len(run)
        at += len(run)


def _matched_parts(run: str, wanted: frozenset[str], *, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the longest parts of a run without spaces whose characters or pairs are wanted."""
    marked = [False] * len(run)
    for size in (1, 2):
        for at in range(len(run) - size + 1):
            if fold(run[at : at + size]) in wanted:
                marked[at : at + size] = [True] * size
    at = offset
    for is_marked, places in groupby(marked):
        size = sum(1 for _ in places)
        if is_marked:
            yield at, at + size
        at += size


@lru_cache(maxsize=_CACHED_CHARS)
def _kind(char: str) -> str:
    """Return the kind of run that a character is in."""
    if unicodedata.category(char)[0] not in _WORD_CATEGORIES:
        return "between"
    return "unspaced" if is_unspaced(char) else "word"
