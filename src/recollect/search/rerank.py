"""Rerank: the reader reads the question together with each of the best candidates.

Its opinion, the probability that a passage answers, is further evidence on the scale of the
calibrated fusion, and evidence adds up: what it is sure of rises, everything else stays where it
was. If it runs out of time or has no model, the order stands and the answer says so; a text in a
script that it cannot read counts like the best that it could. Chosen by measurement:
docs/decisions/ranking.md.

That one of them answers is the less likely the more names of the question a passage lacks, because
the reader tells what was asked for better than of whom: docs/decisions/confidence.md.
"""

from __future__ import annotations

import math
import re
import time
from calendar import day_name, month_name
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.providers.base import READS_ENOUGH
from recollect.records import dataclass
from recollect.search.scores import raised
from recollect.text.language import is_english
from recollect.text.terms import query_terms, terms
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from recollect.providers.base import Reranker
    from recollect.search.options import RerankOptions
    from recollect.types import Chunk

    Floats = npt.NDArray[np.float64]

RERANK = "rerank"
"""Names this stage in `degraded`."""
CANDIDATES = 8
"""How many the model reads: with more, nDCG rises by less than the time (decisions/ranking.md)."""
_NAME_ODDS = 3.0  # what the log-odds of a passage lose if it has none of the question's names
_MOST_WORDS = 24  # a longer text is a message, in which names are said in passing
_MAY_BE_NAME = re.compile(r"(?<=[\w,;:)] )[^\W\d_]{2,}|\b[^\W\d_]{2,}(?=['’]s\b)")
_WORD = re.compile(r"[^\W\d_]+")
_DATES = frozenset((*day_name, *month_name))


@dataclass(frozen=True, slots=True)
class Standing:
    """The union as it is ranked before rerank."""

    scores: Floats
    ceilings: Floats
    """The most each row's score may rise to: less for old chunks."""
    order: Sequence[int]
    """Rows that may be read, best first."""
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True)
class Reranked:
    """Scores after rerank, or why it did not run."""

    scores: Floats
    degradation: Degradation | None = None
    probability: float | None = None
    """The model's probability that one of them is an answer; None if it did not read them all."""


def rerank(
    question: str, *, standing: Standing, reranker: Reranker, options: RerankOptions
) -> Reranked:
    """Let the model's opinion of the best candidates raise their scores."""
    best = list(standing.order[:CANDIDATES])
    asked = [row for row in best if reranker.reads(standing.chunks[row].text) >= READS_ENOUGH]
    if not asked or reranker.reads(question) < READS_ENOUGH:
        return Reranked(standing.scores)
    try:
        reranker.prepare()
        deadline = time.monotonic() + options.budget_ms / 1000
        passages = [standing.chunks[row].read_text for row in asked]
        opinions = reranker.score(question, passages, deadline=deadline)
    except ProviderError as error:
        return Reranked(standing.scores, Degradation(error.message, error.action))
    if len(opinions) < len(asked):
        return Reranked(standing.scores, _out_of_time(len(opinions), len(asked), options))
    # What it could not read may be the answer, and rises with the best.
    of_row = dict(zip(asked, opinions, strict=True))
    assumed = np.array([of_row.get(row, max(opinions)) for row in best])
    scores = standing.scores.copy()
    scores[best] = raised(
        scores[best], evidence=options.weight * assumed, ceilings=standing.ceilings[best]
    )
    is_all = len(asked) == len(best)
    names = names_in(question)
    none = math.prod(
        1.0 - less_likely(opinion, missing=missing_share(names, standing.chunks[row]))
        for row, opinion in zip(asked, opinions, strict=True)
    )
    return Reranked(scores, probability=1.0 - none if is_all else None)


def names_in(question: str) -> tuple[str, ...]:
    """Return the names in a short English question.

    They have a capital letter inside a sentence, or a genitive, and are no function words, days or
    months.
    """
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


def missing_share(names: Sequence[str], chunk: Chunk) -> float:
    """Return the share of the names that neither the text, nor its headings and path have."""
    if not names:
        return 0.0
    text = " ".join((chunk.text, *chunk.heading, chunk.path)).casefold()
    words = set(_WORD.findall(text))
    return sum(not any(word.startswith(each) for word in words) for each in names) / len(names)


def less_likely(probability: float, *, missing: float) -> float:
    """Return a probability with lower log-odds, by the share of names that are missing."""
    odds = probability * math.exp(-_NAME_ODDS * missing)
    return odds / (odds + 1.0 - probability)


def _out_of_time(read: int, asked: int, options: RerankOptions) -> Degradation:
    return Degradation(
        reason=f"The reader read {read} of {asked} candidates in {options.budget_ms} ms.",
        action="Raise rerank.budget_ms, or turn rerank off.",
    )
