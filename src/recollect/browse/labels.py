"""Names groups of texts by the words that tell them apart, without a model."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.highlight import runs_of
from recollect.text.terms import stop_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WORDS = 3  # of a name
_LEAST_CHARS = 4  # of a word: shorter ones seldom say what a text is about
_GRAMS = range(2, 5)  # characters that may be a word of a script without spaces
_LEAST_RATIO = 2.0  # of a word's share in the group to its share in the others
_LEAST_TEXTS = 2  # of a group that have a word, if it has more than one text
_HEADING_WEIGHT = 2.0  # a word in a heading is about the whole text


@dataclass(frozen=True, slots=True)
class LabelText:
    """A text of a group."""

    heading: str
    body: str


def name_groups(groups: Sequence[Sequence[LabelText]]) -> list[tuple[str, ...]]:
    """Return for each group the words that are frequent in it and rare in the others.

    A word counts once per text. Its weight in a group is `p log(p / q)`: p is its share of the
    texts of the group, q its share of the others.
    """
    spellings: Counter[tuple[str, str]] = Counter()
    counted = [_counted(group, spellings) for group in groups]
    everywhere: Counter[str] = Counter()
    for each in counted:
        everywhere.update(each)
    total = sum(map(len, groups))
    written: dict[str, str] = {}
    for (term, word), _ in spellings.most_common():
        written.setdefault(term, word)
    names = []
    for group, own in zip(groups, counted, strict=True):
        weights = {
            term: _weight(weight, len(group), everywhere[term] - weight, total - len(group))
            for term, weight in own.items()
            if weight >= min(_LEAST_TEXTS, len(group))
        }
        telling = (term for term in weights if weights[term] > 0)
        best = sorted(telling, key=lambda term: (-weights[term], -len(term), term))
        names.append(tuple(written[term] for term in _apart(best)))
    return names


def _apart(best: Iterable[str]) -> list[str]:
    """Return the first terms that are not parts of one word: of 数据库, not also 据库."""
    chosen: list[str] = []
    for term in best:
        chars = set(term)
        if term.isascii() or not any(
            2 * len(chars & set(other)) >= min(len(chars), len(set(other))) for other in chosen
        ):
            chosen.append(term)
        if len(chosen) == _WORDS:
            break
    return chosen


def _weight(inside: float, size: int, outside: float, others: int) -> float:
    share = min(1.0, inside / (size * _HEADING_WEIGHT))
    ratio = share / ((outside + 1) / (others * _HEADING_WEIGHT + 2))
    return share * log(ratio) if ratio >= _LEAST_RATIO or not others else 0.0


def _counted(group: Iterable[LabelText], spellings: Counter[tuple[str, str]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for text in group:
        weights: dict[str, float] = {}
        for part, weight in ((text.body, 1.0), (text.heading, _HEADING_WEIGHT)):
            for term, word in _words(part):
                spellings[term, word] += 1
                weights[term] = max(weight, weights.get(term, 0.0))
        for term, weight in weights.items():
            counted[term] += weight  # type: ignore[assignment]  # a Counter takes any number
    return counted


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text, each with its term; of scripts without spaces, short runs."""
    stop = stop_terms()
    for kind, run in runs_of(text):
        if kind == "unspaced":
            for size in _GRAMS:
                grams = (run[at : at + size] for at in range(len(run) - size + 1))
                yield from ((gram, gram) for gram in grams if gram not in stop)
        elif len(run) >= _LEAST_CHARS and not any(map(str.isdigit, run)):
            term = next(iter(terms(run)), "")
            if term and term not in stop:
                yield term, run
