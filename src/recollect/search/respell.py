"""Finds the spelling that memory knows for a word that occurs nowhere in it.

The index keeps terms as hashes, so every word one edit away is made and looked up, as Norvig's
corrector does (norvig.com/spell-correct.html). The first letter stays, because people seldom get it
wrong and names would become other names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from string import ascii_lowercase
from typing import TYPE_CHECKING

from recollect.text.scripts import fold, stem
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from recollect.text.terms import QueryTerms

_WORD = re.compile(r"[^\W\d_]+")
_MIN_CHARS = 7
_MIN_CHARS_ALONE = 5
"""Least letters if no word of the question occurs: there is nothing else to search for."""
_MIN_CHANGED_CHARS = 8
"""Letters from which one may be replaced. Shorter words have too many neighbours: `winner` would
become `winter`. An ending does not count: `protects` would become `projects`."""
_ENDING = re.compile("(?:s|ed|ing)$")
_MIN_STEM_CHARS = 6
"""`washing` is long enough, but its stem `wash` has as many neighbours as any short word."""
_LONG_CHARS, _MIN_STEM_CHARS_OF_LONG = 10, 5
"""`irrigation` has a short stem and few neighbours."""
_MAX_CHARS = 24
_MOST_TERMS = 12
"""A longer text is a prompt, in which a strange word is not the point."""
_MOST_WORDS = 3


def respell(
    text: str,
    question: QueryTerms,
    *,
    frequencies: Mapping[str, int],
    look_up: Callable[[Sequence[str]], Mapping[str, int]],
) -> tuple[QueryTerms, dict[str, str]]:
    """Return the question in known spellings, and the terms for misspelled words.

    `frequencies` says how many chunks have each term, and `look_up` says it of other terms.
    """
    if len(question.terms) > _MOST_TERMS:
        return question, {}
    unknown = [word for word in _WORD.findall(text) if not any(map(frequencies.get, terms(word)))]
    new_terms: dict[str, str] = {}
    spelled: dict[str, str] = {}
    is_lost = not any(frequencies.get(term) for term in question.terms if term not in question.stop)
    least = _MIN_CHARS_ALONE if is_lost else _MIN_CHARS
    lowered = (fold(word).casefold() for word in unknown)  # as terms are
    wanted = [word for word in lowered if least <= len(word) <= _MAX_CHARS and word.isascii()]
    for word in wanted[:_MOST_WORDS]:
        near = sorted(_terms_near(word))
        found = look_up(near)
        best = max(near, key=lambda term: found.get(term, 0), default="")
        if found.get(best, 0):
            spelled[word] = best
            new_terms |= dict.fromkeys(terms(word), best)
    if not new_terms:
        return question, {}
    replaced = tuple(dict.fromkeys(new_terms.get(term, term) for term in question.terms))
    identifiers = tuple(term for term in question.identifiers if term not in new_terms)
    return replace(question, terms=replaced, identifiers=identifiers), spelled


def as_written(term: str, texts: Iterable[str]) -> str:
    """Return the first word with this term in some texts, or the term itself."""
    words = (word for text in texts for word in _WORD.findall(text))
    return next((word for word in words if stem(fold(word).casefold()) == term), term)


def _terms_near(word: str) -> set[str]:
    """Return the terms of the words one edit away that are too long to be met by chance."""
    splits = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    near = {head + tail[1:] for head, tail in splits if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    near |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    roots = {stem(each) for each in near if len(each) >= _LONG_CHARS}
    found = {root for root in roots if len(root) >= _MIN_STEM_CHARS_OF_LONG}
    if len(_ENDING.sub("", word)) >= _MIN_CHANGED_CHARS:
        changed = ((head, tail[1:]) for head, tail in splits if tail)
        near |= {head + letter + rest for head, rest in changed for letter in ascii_lowercase}
    found |= {root for root in map(stem, near) if len(root) >= _MIN_STEM_CHARS}
    return found - {stem(word)}
