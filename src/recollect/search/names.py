"""Whom a question asks about, whom a passage names, and who says it.

The reader tells what was asked for better than of whom. So a passage counts the less for an answer
the more names of the question it lacks; and if the named person speaks in some passages, what they
say must be likelier than what others say. Chosen by measurement: docs/decisions/confidence.md.
"""

from __future__ import annotations

import math
import re
from calendar import day_name, month_name
from typing import TYPE_CHECKING

from recollect.text.language import is_english
from recollect.text.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.types import Chunk

_NAME_ODDS = 3.0  # what the log-odds of a passage lose if it has none of the question's names
_SPEAKER_ODDS = 1.5  # by how much those of the named speaker must exceed those of others
_MOST_WORDS = 24  # a longer text is a message, in which names are said in passing
_MAY_BE_NAME = re.compile(r"(?<=[\w,;:)] )[^\W\d_]{2,}|\b[^\W\d_]{2,}(?=['’]s\b)")
_WORD = re.compile(r"[^\W\d_]+")
_SPEAKER = r"(?:\[[^\]\n]*\][ \t]*)?\**([^\W\d_]{2,}(?: [^\W\d_]+)?)\**:"
"""`Maren:`, `[2026-03-02 18:10] Maren Holt:` or `**Maren:**` at the beginning of a line."""
_BEGINS = re.compile(rf"(?:#[^\n]*\n|\s)*{_SPEAKER}")  # below headings
_LINE = re.compile(rf"^{_SPEAKER}", re.MULTILINE)
_DATES = frozenset((*day_name, *month_name))


def answered(question: str, chunks: Sequence[Chunk], opinions: Sequence[float]) -> float:
    """Return the probability that one of these chunks answers of whom it is asked."""
    names = names_in(question)
    likely = [
        less_likely(opinion, by=_NAME_ODDS * missing_share(names, chunk))
        for opinion, chunk in zip(opinions, chunks, strict=True)
    ]
    said = [speakers(chunk.text) for chunk in chunks]
    is_own = [any(name.startswith(names) for name in each) for each in said]
    is_other = [bool(each) and not own for each, own in zip(said, is_own, strict=True)]
    whole = _any_of(likely)
    if not (any(is_own) and any(is_other)):
        return whole
    of_others = _any_of(each for each, other in zip(opinions, is_other, strict=True) if other)
    own = _any_of(each for each, other in zip(likely, is_other, strict=True) if not other)
    yes, no = own * (1.0 - of_others), of_others * (1.0 - own)
    return min(whole, less_likely(yes / (yes + no), by=_SPEAKER_ODDS)) if yes + no else whole


def names_in(question: str) -> tuple[str, ...]:
    """Return the names in a short English question: capitals inside a sentence, or genitives."""
    words = question.split()
    if len(words) > _MOST_WORDS or not is_english(question):
        return ()
    found = dict.fromkeys(_MAY_BE_NAME.findall(question))
    stop = query_terms(question).stop
    return tuple(
        each.casefold().removesuffix("s")
        for each in found
        if each.istitle() and each not in _DATES and not stop.issuperset(terms(each))
    )


def speakers(text: str) -> frozenset[str]:
    """Return the words of the names before what is said, if a text begins with such a name."""
    if not _BEGINS.match(text):
        return frozenset()
    return frozenset(word for name in _LINE.findall(text) for word in name.casefold().split())


def missing_share(names: Sequence[str], chunk: Chunk) -> float:
    """Return the share of the names that neither the text, nor its headings and path have."""
    if not names:
        return 0.0
    text = " ".join((chunk.text, *chunk.heading, chunk.path)).casefold()
    words = set(_WORD.findall(text))
    return sum(not any(word.startswith(each) for word in words) for each in names) / len(names)


def less_likely(probability: float, *, by: float) -> float:
    """Return a probability with lower log-odds."""
    odds = probability * math.exp(-by)
    return odds / (odds + 1.0 - probability)


def _any_of(probabilities: Iterable[float]) -> float:
    """Return the probability that any of several events occurs."""
    return 1.0 - math.prod(1.0 - each for each in probabilities)
