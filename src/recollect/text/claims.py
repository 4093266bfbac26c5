"""Tells whether two sentences claim the same, by their words.

Both must have the same words that matter, numbers and names in the same order, as many denials and
the same tense. Vectors cannot tell a claim from its denial, from the past, or from the same claim
about someone else: docs/decisions/facts.md. It knows no facts and no files.
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
_STEM_CHARS = 3  # first characters of a word, which its forms share
_NUMBER = re.compile(r".*\d")
_NEGATION = re.compile(
    r"(?:not|no|never|without|cannot|none|neither|nor|nicht|kein\w*|nie|ohne|не|нет|никогда)\Z"
    r"|.*n['’]t\Z"
)
_NEGATED_RUN = re.compile("不|没|ない")  # in scripts without spaces
_PLURAL = re.compile(r"(?<=[^\W\d_]{3})(?<![su])s\Z")
_POSSESSIVE = re.compile(r"['’](?:s|re|ve|m|ll|d)?\Z")
_BE = _listed("is are am be been being was were get gets ist sind")
_FILLERS = _BE | _listed(
    "a an the this that these those it its our my mine we i us me of also just own there here who"
    " which where and do does has have der die das ein eine unser unsere mein meine"
)
"""Words that do not change a claim."""
_PREPOSITIONS = _listed("in on at for to with by as from into onto")
_OPPOSITES = (frozenset({"to", "from"}), frozenset({"into", "from"}), frozenset({"onto", "from"}))
_LIGHT_WORDS = (
    "located keep kept store stored place placed found call called name named set put turn turned"
    " happen run use used get every each all listens made done"
)
"""Words that mostly say only that something is so."""
_TENSES = _listed(
    "was were had will would may might could shall former formerly previously once until ago soon"
    " anymore yet war waren wird"
)
_USED_TO = re.compile(r"\bused to\b", re.IGNORECASE)
_DAYS = _listed(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december"
)
"""Written like names, but it does not matter what they come after."""
_SUFFIX = re.compile(r"(?:(?<=...)(?:ment|ion|ten|en|er|or)|(?<=....)[iey])\Z")
"""Distinguishes words of one root: owner, own; allergy, allergic."""


class Wording(StrEnum):
    """How two sentences that claim the same differ."""

    SAME = "the same words"
    """In the same order."""
    OTHER = "the same words in another form or order"
    """The order may matter after all, or one of the words that seldom do."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a text says, as words."""

    words: tuple[str, ...]
    """Those that matter, in the singular, in order."""
    roots: frozenset[str]
    """The same as roots, without those that seldom matter."""
    names: frozenset[str]
    """Words written with a capital inside a sentence."""
    numbers: tuple[str, ...]
    prepositions: frozenset[str]
    tenses: frozenset[str]
    past: frozenset[str]
    """Words in the past tense: `lived` has the same stem as `lives`."""
    negations: int
    asks: bool


def compare_claims(one: str, other: str) -> Wording | None:
    """Return how two sentences that claim the same differ; None if they do not."""
    first = _statement_of(one)
    folded = fold(other).casefold()
    if not first.roots or any(root[:_STEM_CHARS] not in folded for root in first.roots):
        return None  # the cheap test first: nearly all pairs have nothing in common
    second = _statement_of(other)
    if not _agree(first, second):
        return None
    here, there = _apart(first, second)
    if first.words == second.words and not (here and there):
        return Wording.SAME
    return Wording.OTHER if first.roots == second.roots else None


def claim_key(text: str) -> frozenset[str]:
    """Return what sentences that claim the same have in common."""
    return _statement_of(text).roots


def may_agree(one: str, other: str) -> bool:
    """Tell whether nothing differs that would turn one claim into another, whatever the words."""
    return _agree(_statement_of(one), _statement_of(other))


@lru_cache(maxsize=8192)
def _statement_of(text: str) -> _Statement:
    """Return what a text says."""
    words: list[str] = []
    names: set[str] = set()
    prepositions: set[str] = set()
    past: set[str] = set()
    tenses = {"used to"} if _USED_TO.search(text) else set()
    negations = len(_NEGATED_RUN.findall(text))
    previous = ""
    for found in _WORD.finditer(fold(text)):
        is_capital = found.start() > 0 and found[0][0].isupper()
        plain = _POSSESSIVE.sub("", found[0].casefold())
        word = _PLURAL.sub("", plain)
        if _NEGATION.match(found[0].casefold()):
            negations += 1
        elif plain in _PREPOSITIONS:
            prepositions.add(plain)
        elif plain in _TENSES and not is_capital:
            tenses.add(plain)
        elif plain not in _FILLERS or (is_capital and len(plain) == 1):
            words.append(word)
            names |= {word} if is_capital and word not in _DAYS else set()
            past |= {_root(plain)} if plain.endswith("ed") and previous not in _BE else set()
        previous = plain
    return _Statement(
        words=tuple(words),
        roots=frozenset(_root(word) for word in words) - _LIGHT,
        names=frozenset(names),
        numbers=tuple(word for word in words if _NUMBER.match(word)),
        prepositions=frozenset(prepositions),
        tenses=frozenset(tenses),
        past=frozenset(past),
        negations=negations,
        asks="?" in text or "？" in text,
    )


@lru_cache(maxsize=8192)
def _root(word: str) -> str:
    return _SUFFIX.sub("", stem(word))


def _agree(first: _Statement, second: _Statement) -> bool:
    """Tell whether nothing of what turns a claim into another one differs."""
    names = first.names | second.names
    differing = (first.past ^ second.past) & first.roots & second.roots
    here, there = _apart(first, second)
    opposed = any(pair & here and pair & there for pair in _OPPOSITES)
    return (
        first.numbers == second.numbers
        and first.negations == second.negations
        and first.tenses == second.tenses
        and first.asks == second.asks
        and _in_order(first, names) == _in_order(second, names)
        and not differing
        and not opposed
    )


def _apart(first: _Statement, second: _Statement) -> tuple[frozenset[str], frozenset[str]]:
    """Return the prepositions that only the one has, and those that only the other has."""
    return (
        first.prepositions - second.prepositions,
        second.prepositions - first.prepositions,
    )


def _in_order(claim: _Statement, names: frozenset[str]) -> list[str]:
    return [word for word in claim.words if word in names]


_LIGHT = frozenset(map(_root, _LIGHT_WORDS.split()))
