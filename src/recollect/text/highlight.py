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


def matched_words(text: str, *, question: str) -> tuple[str, ...]:
    """Return the words of a text, as written there, that share a term with the question.

    `backups` is found by "backup", 自行车 by "他的自行车". Words without a topic, such as "the",
    count only if the question has no others.
    """
    asked = query_terms(question)
    topical = frozenset(asked.terms) - asked.stop or frozenset(asked.terms)
    found = tuple(dict.fromkeys(_matched(text, topical)))
    # As the search does: single characters only where no pair of them is found.
    return found or tuple(dict.fromkeys(_matched(text, frozenset(character_terms(question).terms))))


def _matched(text: str, wanted: frozenset[str]) -> Iterator[str]:
    if not wanted:
        return
    for kind, run in runs_of(text):
        if kind == "unspaced":
            yield from _matched_parts(run, wanted)
        elif kind == "word" and not wanted.isdisjoint(terms(run)):
            yield run


def runs_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the runs of a text with their kinds: `word`, `unspaced` script, `between` words."""
    for kind, chars in groupby(text, key=_kind):
        yield kind, "".join(chars)


def _matched_parts(run: str, wanted: frozenset[str]) -> Iterator[str]:
    """Yield the longest parts of a run without spaces whose characters or pairs are wanted."""
    marked = [False] * len(run)
    for size in (1, 2):
        for at in range(len(run) - size + 1):
            if fold(run[at : at + size]) in wanted:
                marked[at : at + size] = [True] * size
    for is_marked, places in groupby(range(len(run)), key=marked.__getitem__):
        if is_marked:
            yield "".join(run[place] for place in places)


@lru_cache(maxsize=_CACHED_CHARS)
def _kind(char: str) -> str:
    if unicodedata.category(char)[0] not in _WORD_CATEGORIES:
        return "between"
    return "unspaced" if is_unspaced(char) else "word"
