"""How likely is it that a memory holds an answer at all? An estimate, its certainties and vetoes.

If the reader has read the best candidates, the estimate is its own: that one of them answers.
Otherwise it is that of the legs, logistic, of four numbers. For: the evidence of the best hits.
Against: how much the next hits have, too, because an answer stands out from what is merely of the
same kind; and the share of the question's information in words that occur nowhere in the memory.
Both were fitted on questions that nothing is measured with: docs/decisions/confidence.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.records import dataclass
from recollect.search.scores import DATE, KEYWORD, VECTOR, evidence_of_legs
from recollect.text.terms import phrase_words
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.search.rank import Ranking
    from recollect.search.scores import Floats, LegScores
    from recollect.search.weigh import Evidence
    from recollect.types import Leg

RIVALS = 5
"""Chunks after the best that it has to stand out from."""
CONFIDENT_FROM = 0.35
"""The least probability of an answer that is called confident, if only the legs were asked."""
CONFIDENT_IF_READ = 0.5
"""The same if the reader has read: it is right more often, so less doubt is let through."""
_GUESSED = 0.5  # share of a question in guessed spellings from which its answer is a guess


@dataclass(frozen=True, slots=True)
class Weights:
    """What each number adds to the logarithm of the odds."""

    start: float
    evidence: Mapping[Leg, float]
    """Weight of the best evidence of each leg."""
    rivals: float = 0.0
    """Weight of the mean evidence of the chunks after the best."""
    unknown: float = 0.0
    """Weight of the share of the question's information in words that occur nowhere."""


BY_WORDS = Weights(-2.0, {KEYWORD: 4.0, VECTOR: 10.5, DATE: 8.0}, rivals=-4.1, unknown=-2.1)
BY_VECTOR = Weights(-2.0, {KEYWORD: 8.0, VECTOR: 16.5, DATE: 8.0}, rivals=-6.2, unknown=-2.2)
BY_KEYWORD = Weights(-1.8, {KEYWORD: 10.0, DATE: 8.0})
"""Weights without vectors: any but that of shared words made large memories confident."""


def answer_probability(
    evidence: Mapping[Leg, Floats], *, unknown: float, words_compared: bool
) -> float:
    """Return the probability that one of these chunks answers the question."""
    by_vector = BY_WORDS if words_compared else BY_VECTOR
    weights = by_vector if VECTOR in evidence else BY_KEYWORD
    content = np.sum([own for leg, own in evidence.items() if leg is not DATE], axis=0)
    if not len(content):
        return 0.0
    best = {leg: float(own.max()) for leg, own in evidence.items()}
    if DATE in evidence:
        # The day counts if it is that of the best hit: others of that day are about other things.
        best[DATE] = float(evidence[DATE][np.argmax(content + evidence[DATE])])
    rivals = float(np.sort(content)[::-1][1 : 1 + RIVALS].sum()) / RIVALS
    odds = weights.start + weights.rivals * rivals + weights.unknown * unknown
    odds += sum(weights.evidence.get(leg, 0.0) * most for leg, most in best.items())
    return float(1.0 / (1.0 + np.exp(-odds)))


def leg_probability(legs: Mapping[Leg, LegScores], *, unknown: float = 0.0) -> float:
    """Return what the legs' evidence says, whichever fusion orders the hits.

    Neither a blend nor ranks can tell noise from a match.
    """
    words_compared = any(leg.compares_words for leg in legs.values())
    return answer_probability(
        evidence_of_legs(legs), unknown=unknown, words_compared=words_compared
    )


def likelihood(evidence: Evidence, ranking: Ranking) -> float:
    """Return the reader's probability of an answer, or what the legs say if it did not read."""
    if ranking.is_exact.any():
        return 1.0
    if ranking.probability is not None:
        return ranking.probability
    return leg_probability(evidence.legs, unknown=evidence.pools.unknown)


def is_confident(probability: float, ranking: Ranking) -> bool:
    """Return whether an answer of this probability may be relied on."""
    return probability >= (CONFIDENT_FROM if ranking.probability is None else CONFIDENT_IF_READ)


def _is_of_the_day(evidence: Evidence, best: int) -> bool:
    """Return whether a note of the day that was asked for was found, whatever it says.

    The day of a fact is the one on which it was said, of which it tells nothing.
    """
    question, hit = evidence.question, evidence.loaded.chunks[best]
    is_dated = question.days is not None and question.days.holds(hit.when)
    is_note = hit.source is not SourceKind.FACTS
    return is_dated and is_note and question.wants_days and not question.absent


def _asks_nothing(evidence: Evidence, _: int) -> bool:
    """Return whether the question is one function word: "the"."""
    words = evidence.question.words
    return bool(words.stop) and len(words.terms) == 1


def _has_every_word_quoted(evidence: Evidence, _: int) -> bool:
    """Return whether the question is nothing but phrases that occur: every hit contains them."""
    query = evidence.question.query
    quoted = {word for phrase in query.scope.phrases for word in phrase.words}
    return bool(quoted) and quoted.issuperset(phrase_words(query.text))


def _is_guess(evidence: Evidence, best: int) -> bool:
    """Return whether most of the question is in guessed spellings that the best hit does not prove.

    It proves them if it has every corrected word, and one content word of the question.
    """
    question = evidence.question
    if not question.spelled or evidence.pools.unknown <= _GUESSED:
        return False
    has_term = evidence.loaded.counts[best].any(axis=-1)
    shared = {term for term, has in zip(question.words.terms, has_term, strict=True) if has}
    guessed = set(question.spelled.values())
    return not guessed <= shared or shared <= guessed | question.words.stop


_RULES: tuple[tuple[Callable[[Evidence, int], bool], float], ...] = (
    (_is_of_the_day, 1.0),
    (_asks_nothing, 0.0),
    (lambda evidence, _: bool(evidence.question.absent), 0.0),
    (_has_every_word_quoted, 1.0),
    (lambda evidence, _: bool(evidence.unknown_identifiers), 0.0),
)
"""What decides whatever the legs and the reader say; the first that applies."""


def confidence(evidence: Evidence, ranking: Ranking, *, best: int | None) -> float:
    """Return the probability that the hits answer the question; `best` is the row of the first."""
    if best is None:
        return 0.0
    for applies, value in _RULES:
        if applies(evidence, best):
            return value
    if ranking.probability is None and _is_guess(evidence, best):
        return 0.0
    return likelihood(evidence, ranking)
