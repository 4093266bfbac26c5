"""Tells whether two sentences claim the same, by their words.

Both must have the same words, without those that change nothing, and names and numbers in the same
order. Vectors cannot tell a claim from its denial, from the past, or from the same claim about
someone else. It knows no facts and no files.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from recollect.records import dataclass
from recollect.text.scripts import fold, stem


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_][\w.:/@-]*(?<![.:/@-])[+#]*(?:['’]\w+)?")
_STEM_CHARS = 2  # first characters of a word, which its forms share
_DENIAL = re.compile(r"(?:not|no|never|cannot|nicht|kein\w*|nie|не|нет|никогда)\Z|.*n['’]t\Z")
_NOT = "not"
"""Stands for any denial."""
_DENIED_RUN = re.compile("不|没|ない")  # in scripts without spaces
_PLURAL = re.compile(r"(?<=[^\W\d_]{3})(?<![su])s\Z")
_POSSESSIVE = re.compile(r"['’](?:s|re|ve|m|ll|d)?\Z")
_BE = _listed("is are am be been being get gets ist sind")
_FILLERS = _BE | _listed(
    "a an the this that these those it its our my mine we i us me of also just own there here who"
    " which where and do does has have der die das ein eine unser unsere mein meine"
)
"""Words that do not change a claim."""
_LIGHT = _listed(
    "located keep kept store stored save contain hold place placed found call called name named set"
    " put turn turned happen run use every each all listen made done in on at for with by as"
)
"""Words that seldom change a claim."""
_COMPARING = _listed("than instead before after until unlike versus")
"""Words after which the order matters."""
_DAYS = _listed(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december"
)
"""Written like names, but it does not matter what they come after."""


class Wording(StrEnum):
    """How two sentences that claim the same differ."""

    SAME = "the same words"
    """The same words in the same order."""
    OTHER = "the same words in another form or order"
    """The order may matter after all, or one of the words that seldom do."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a text says, as words."""

    words: tuple[str, ...]
    """Words that matter, in the singular, in order."""
    stems: frozenset[str]
    """Stems of the words, without those that seldom matter."""
    fixed: frozenset[str]
    """Names and numbers."""
    asks: bool


def compare_claims(one: str, other: str) -> Wording | None:
    """Return how two sentences that claim the same differ; None if they do not."""
    first = _statement_of(one)
    folded = fold(other).casefold()
    if not first.stems or any(each[:_STEM_CHARS] not in folded for each in first.stems - {_NOT}):
        return None  # the cheap test first: nearly all pairs have nothing in common
    second = _statement_of(other)
    if first.asks != second.asks:
        return None
    if first.words == second.words:
        return Wording.SAME
    return Wording.OTHER if first.stems == second.stems and _agree(first, second) else None


@lru_cache(maxsize=8192)
def _statement_of(text: str) -> _Statement:
    words = _DENIED_RUN.findall(text)
    stems: set[str] = set(words)
    fixed: set[str] = set()
    previous = ""
    for found in _WORD.finditer(fold(text)):
        said = found[0].casefold()
        plain = _POSSESSIVE.sub("", said)
        is_capital = found.start() > 0 and found[0][0].isupper()
        word = _NOT if _DENIAL.match(said) else _PLURAL.sub("", plain)
        if plain not in _FILLERS or (is_capital and len(plain) == 1):
            words.append(word)
            if word not in _LIGHT:
                # `lived` has the stem of `lives`, but says something else.
                is_past = word.endswith("ed") and previous not in _BE
                stems.add(word if is_past else stem(word))
            if (is_capital and word not in _DAYS) or any(map(str.isdigit, word)):
                fixed.add(word)
        previous = plain
    asks = "?" in text or "？" in text
    return _Statement(tuple(words), frozenset(stems), frozenset(fixed), asks)


def _agree(first: _Statement, second: _Statement) -> bool:
    """Return whether the order of the words makes no other claim."""
    fixed = first.fixed | second.fixed
    ends, others = first.words[:1] + first.words[-1:], second.words[-1:] + second.words[:1]
    # The client calls the server, the server calls the client.
    is_turned = ends == others and len(first.words) > len(ends)
    return (
        [word for word in first.words if word in fixed]
        == [word for word in second.words if word in fixed]
        and not _COMPARING & {*first.words, *second.words}
        and not (is_turned and {*first.words} == {*second.words})
    )
