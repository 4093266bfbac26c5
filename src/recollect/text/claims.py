"""Tells whether two sentences claim the same, by their words.

Both must have the same words that matter, or words of one meaning, numbers and names in the same
order, as many denials and the same tense. Vectors cannot tell a claim from its denial, from the past, or from the same claim
about someone else: docs/decisions/0013 and 0018. It knows no facts and no files.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.scripts import fold, stem

if TYPE_CHECKING:
    from collections.abc import Mapping


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
_ONE_MEANING = (
    "begin start commence|need require|reach reachable accessible|prefer favourite"
    " favorite|hate detest|love adore|live reside|send dispatch|buy purchase|repair fix|big large|small little|fast quick|show display|delete remove erase|choose"
    " select pick|help assist|allow permit|forbid prohibit|contain hold|car automobile|bike bicycle"
    "|phone telephone|flat apartment|film movie|photo photograph|doctor physician|child children kid"
    "|mother mum mom|father dad|sofa couch|holiday vacation|lawyer attorney|television tv|maximum max|minimum min|daily everyday|yearly annual"
    " annually|repository repo|database db|documentation docs|application app|configuration config"
    "|folder directory|administrator admin|production prod|postgres postgresql|kubernetes k8s"
    "|javascript js|licence license|colour color|centre center|grey gray|tyre tire|programme program"
)
"""Words of facts that may replace each other, by meaning. Vectors cannot tell them from opposites."""
_IRREGULAR = (
    "built build|sent send|kept keep|held hold|given give|shown show|written write|taken take|bought"
    " buy|paid pay|made make|chosen choose|begun begin|met meet|taught teach|driven drive"
)
_NUMERALS = "one two three four five six seven eight nine ten eleven twelve"
_PHRASES = (
    (re.compile(r"\bcan be\b", re.IGNORECASE), "is"),
    (re.compile(r"\b(?:can['’]?t|cannot) stand\b", re.IGNORECASE), "hates"),
    (re.compile(r"\b(?:every|each|per|once a) day\b", re.IGNORECASE), "daily"),
    (re.compile(r"\b(?:every|each|per|once a) week\b", re.IGNORECASE), "weekly"),
    (re.compile(r"\b(?:every|each|per|once a) month\b", re.IGNORECASE), "monthly"),
    (re.compile(r"\b(?:every|each|per|once a) year\b", re.IGNORECASE), "yearly"),
    (re.compile(r"\bis able to\b", re.IGNORECASE), "can"),
    (re.compile(r"\bgo(?:es)? out\b", re.IGNORECASE), "are sent"),
)
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
    spelt: frozenset[str]
    """Roots that no word of another spelling can replace."""
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
    if not first.roots or any(root[:_STEM_CHARS] not in folded for root in first.spelt):
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
    said = fold(text)
    for phrase, other in _PHRASES:
        said = phrase.sub(other, said)
    previous: tuple[str, str] = ("", "")
    for found in _WORD.finditer(said):
        is_capital = found.start() > 0 and found[0][0].isupper()
        plain = _POSSESSIVE.sub("", found[0].casefold())
        word = _replaced(_PLURAL.sub("", plain))
        if _NEGATION.match(found[0].casefold()):
            negations += 1
        elif plain in _PREPOSITIONS:
            prepositions.add(plain)
        elif plain in _TENSES and not is_capital:
            tenses.add(plain)
        elif plain not in _FILLERS or (is_capital and len(plain) == 1):
            words.append(word)
            names |= {word} if is_capital and word not in _DAYS else set()
            is_past = plain.endswith("ed") or plain in _replacements().irregular
            past |= {_root(word)} if is_past and not _BE & {*previous} else set()
        previous = previous[-1], plain
    roots = frozenset(_root(word) for word in words) - _LIGHT
    return _Statement(
        words=tuple(words),
        roots=roots,
        spelt=roots - _replacements().roots,
        names=frozenset(names),
        numbers=tuple(word for word in words if _NUMBER.match(word)),
        prepositions=frozenset(prepositions),
        tenses=frozenset(tenses),
        past=frozenset(past),
        negations=negations,
        asks="?" in text or "？" in text,
    )


@dataclass(frozen=True, slots=True)
class _Replacements:
    """Words that stand for others of the same meaning."""

    words: Mapping[str, str]
    """By the stem of a word."""
    irregular: Mapping[str, str]
    roots: frozenset[str]
    """Of the words that stand for others."""


@cache
def _replacements() -> _Replacements:
    groups = [group.split() for group in _ONE_MEANING.split("|")]
    numerals = {word: str(number) for number, word in enumerate(_NUMERALS.split(), 1)}
    words = {stem(word): group[0] for group in groups for word in group} | numerals
    irregular = dict(pair.split() for pair in _IRREGULAR.split("|"))
    standing = {*words.values(), *irregular.values()}
    return _Replacements(words, irregular, frozenset(map(_root, standing)))


def _replaced(word: str) -> str:
    """Return the word that stands for all of the same meaning."""
    known = _replacements()
    base = known.irregular.get(word, word)
    return known.words.get(stem(base), base)


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
        and not _swapped(first, second)
    )


def _swapped(first: _Statement, second: _Statement) -> bool:
    """Tell whether subject and object changed places: the client calls the server."""
    ends = first.words[:1] + first.words[-1:]
    return (
        len(first.words) > len(ends)
        and ends == second.words[-1:] + second.words[:1]
        and {*first.words} == {*second.words}
        and not first.prepositions | second.prepositions
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
