"""Tells whether two sentences claim the same, by their words.

Vectors cannot tell a claim from its denial, from the past, or from one about someone else.
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
_OPPOSITES = tuple(map(_listed, ("to from", "into from", "onto from", "to for")))
_COMPARING = _listed("than instead before after until unlike versus")
_LIGHT_WORDS = (
    "located keep kept store stored save contain hold place placed found call called name named set"
    " put turn turned happen run use used get every each all listens made done"
)
"""Words that mostly say only that something is so."""
_TAKING_WORDS = "take drink eat have like want prefer his her their my"
_MEASURE = re.compile(
    r"\b(?:is|are|has|have|at|costs?|of|takes?|needs?|about)\s+\W?(?!\d{4}-)\d", re.IGNORECASE
)
"""Words before a number that says how much or when; after others it names: sprint 12, ticket 41."""
_LEAST_SHARED = 2  # words of two sentences about the same
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
    "begin start commence|end finish expire conclude|need require|reach reachable accessible|"
    "prefer favourite favorite|hate detest loathe|love adore|live reside|send ship transmit "
    "dispatch|buy purchase acquire|own possess|receive obtain|give provide supply|repair fix|"
    "restart reboot|move relocate|happen occur|show display|delete remove erase|choose select "
    "pick|change modify alter|replace substitute|increase raise|decrease reduce lower|join "
    "connect|leave depart|close shut|watch monitor observe|check verify|collect gather|answer "
    "reply respond|notify inform alert|learn study|teach instruct|speak talk|help assist|allow "
    "permit|forbid prohibit ban|operate function|big large|small little|fast quick rapid|cheap "
    "inexpensive|expensive costly|main primary principal|whole entire|broken defective|sick ill|"
    "responsible accountable|usually normally typically generally|often frequently|rarely seldom|"
    "almost nearly|about around approximately roughly|via through|maximum max|minimum min|yearly "
    "annual annually|car automobile|bike bicycle|phone telephone|mobile cellphone smartphone|"
    "flat apartment|house home|film movie|photo photograph picture|doctor physician|child "
    "children kid|mother mum mom|father dad|boss manager supervisor|colleague coworker|company "
    "firm|sofa couch|holiday vacation|lawyer attorney|television tv|lift elevator|rubbish "
    "garbage trash|email e-mail|website site|computer pc|repository repo|database db|"
    "documentation docs|application app|configuration config|folder directory|administrator "
    "admin|production prod|postgres postgresql|kubernetes k8s|javascript js|licence license|"
    "colour color|centre center|grey gray|tyre tire|programme program"
)
"""Words that may replace each other in a fact; to a model, opposites are as near as these."""
_IRREGULAR = (
    "built build|sent send|kept keep|held hold|given give|shown show|written write|taken take"
    "|bought buy|paid pay|made make|chosen choose|begun begin|met meet|taught teach|driven drive"
)
_NUMERALS = "one two three four five six seven eight nine ten eleven twelve"
_PHRASES = tuple(
    (re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), word)
    for phrase, word in (
        ("can be", "is"),
        ("(?:can['’]?t|cannot) stand", "hates"),
        ("(?:every|each|per|once a) day", "daily"),
        ("(?:every|each|per|once a) week", "weekly"),
        ("(?:every|each|per|once a) month", "monthly"),
        ("(?:every|each|per|once a) year", "yearly"),
        ("in charge of", "responsible for"),
        ("goe?s? out", "is sent"),
        ("take place", "happen"),
        ("takes place", "happens"),
        ("(?:have|has) to", "must"),
        ("at most|no more than|up to|limited to", "maximum"),
        ("at least|no less than", "minimum"),
    )
)
_SUFFIX = re.compile(r"(?:(?<=...)(?:ment|ion|ten|en|er|or)|(?<=....)[iey])\Z")
"""Distinguishes words of one root: owner, own; allergy, allergic."""


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
    roots: frozenset[str]
    """Roots of the words, without those that seldom matter."""
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
    denied: frozenset[str]
    """Roots of the first words after a denial."""
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
    one_has, other_has = first.prepositions, second.prepositions
    if first.words == second.words and (one_has <= other_has or one_has >= other_has):
        return Wording.SAME
    return Wording.OTHER if first.roots == second.roots else None


def contradict(one: str, other: str) -> bool:
    """Return whether one sentence denies the other or names another number; False in doubt."""
    first, second = _statement_of(one), _statement_of(other)
    shared, apart = first.roots & second.roots, first.roots ^ second.roots
    is_comparable = (
        not (first.asks or second.asks)
        and (first.tenses, first.past & shared) == (second.tenses, second.past & shared)
        and first.names == second.names
    )
    if not is_comparable or len(shared) < _LEAST_SHARED:
        return False
    if (first.negations + second.negations) % 2:
        lone = apart - _TAKING
        is_one_sided = not (lone & first.roots and lone & second.roots)
        is_same = first.numbers == second.numbers and len(lone) <= 1 and is_one_sided
        return is_same and first.denied | second.denied <= shared
    numbers = {*first.numbers, *second.numbers}
    return (
        first.numbers != second.numbers
        and apart == {_root(number) for number in numbers}
        and len(first.numbers) == len(second.numbers) == 1
        and all(map(_MEASURE.search, (one, other)))
    )


def may_agree(one: str, other: str) -> bool:
    """Return whether nothing differs that would turn one claim into another, whatever the words."""
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
    denied: set[str] = set()
    is_denied = False
    said = fold(text)
    for phrase, other in _PHRASES:
        said = phrase.sub(other, said)
    previous: tuple[str, str] = ("", "")
    for found in _WORD.finditer(said):
        is_capital = found.start() > 0 and found[0][0].isupper()
        plain = _POSSESSIVE.sub("", found[0].casefold())
        word = _replaced(_PLURAL.sub("", plain))
        if _NEGATION.match(found[0].casefold()):
            negations, is_denied = negations + 1, True
        elif plain in _PREPOSITIONS:
            prepositions.add(plain)
        elif plain in _TENSES and not is_capital:
            tenses.add(plain)
        elif plain not in _FILLERS or (is_capital and len(plain) == 1):
            words.append(word)
            denied |= {_root(word)} if is_denied else set()
            is_denied = False
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
        denied=frozenset(denied),
        asks="?" in text or "？" in text,
    )


@dataclass(frozen=True, slots=True)
class _Replacements:
    """Words that stand for others of the same meaning."""

    words: Mapping[str, str]
    """Words of one meaning, by the stem of a word."""
    irregular: Mapping[str, str]
    roots: frozenset[str]
    """Roots of the words that stand for others."""


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
    """Return whether nothing of what turns a claim into another one differs."""
    names = first.names | second.names
    differing = (first.past ^ second.past) & first.roots & second.roots
    here = first.prepositions - second.prepositions
    there = second.prepositions - first.prepositions
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
    """Return whether two things changed places: the client calls the server, X instead of Y."""
    ends = first.words[:1] + first.words[-1:]
    is_turned = (
        len(first.words) > len(ends)
        and ends == second.words[-1:] + second.words[:1]
        and {*first.words} == {*second.words}
        and not first.prepositions | second.prepositions
    )
    return is_turned or _compared_with(first) != _compared_with(second)


def _compared_with(claim: _Statement) -> list[str]:
    """Return what something is compared with: the word after `than`."""
    following = zip(claim.words, claim.words[1:], strict=False)
    return [word for before, word in following if before in _COMPARING]


def _in_order(claim: _Statement, names: frozenset[str]) -> list[str]:
    return [word for word in claim.words if word in names]


_LIGHT = frozenset(map(_root, _LIGHT_WORDS.split()))
_TAKING = frozenset(map(_root, _TAKING_WORDS.split()))
"""Roots that may differ between a claim and its denial."""
