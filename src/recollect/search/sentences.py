"""Spans ─▶ what each hit says, and the sentence of it that answers: docs/decisions/ranking.md.

The reader judges sentences of the first hits one by one. What it cannot read is chosen by the
words of the question. Fields of the front matter count as sentences.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.providers.base import READS_ENOUGH
from recollect.text.excerpt import sentences, weight_of
from recollect.text.terms import terms
from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.providers.base import Reranker
    from recollect.search.rank import Ranking
    from recollect.search.select import Span
    from recollect.search.weigh import Evidence
    from recollect.types import Chunk

MOST_READ_HITS = 3  # of an answer that is not confident, otherwise the first alone
_MOST_READ = 8  # sentences of one hit, those with most of the question: each takes 3 ms


def term_weights(evidence: Evidence) -> dict[str, float]:
    """Return how much each term tells that a sentence is about the question, rare ones most."""
    words, corpus = evidence.question.words, evidence.pools.keyword.corpus
    wanted = [term for term in words.terms if term not in words.stop] or words.terms
    return {
        term: math.log1p(corpus.chunks / (0.5 + corpus.frequencies.get(term, 0))) for term in wanted
    }


def texts_said(
    spans: Sequence[Span],
    evidence: Evidence,
    ranking: Ranking,
    *,
    reader: Reranker | None,
    most_read: int,
) -> Iterator[tuple[str, str]]:
    """Yield the text of each hit and its best sentence, which may be empty.

    If the passages were read, so are the sentences of as many hits as `most_read`.
    """
    reader = None if ranking.is_exact.any() or ranking.degraded else reader
    question, weights = evidence.question.query.text, term_weights(evidence)
    for at, chunk in enumerate(evidence.loaded.chunks[span.row] for span in spans):
        fields = [f"- {each}" for each in chunk.fields if each not in chunk.text]
        # Its prose does not go on a list.
        gap = "" if chunk.text.startswith(("#", "\n")) or not fields else "\n"
        said = dict.fromkeys((*fields, *sentences(chunk.text)))
        ranked = sorted(said, key=lambda each: -weight_of(each, weights))
        best = ranked[0] if ranked and weight_of(ranked[0], weights) else ""
        if reader is not None and ranked and at < most_read:
            best = _likeliest(question, ranked[:_MOST_READ], chunk, reader=reader) or best
        shown = [each for each in fields if each == best or weights.keys() & terms(each)]
        yield "\n".join((*shown, (gap if shown else "") + chunk.text)), best


def _likeliest(question: str, said: Sequence[str], chunk: Chunk, *, reader: Reranker) -> str:
    """Return the sentence that most likely answers, below its headings and the head of a table."""
    if min(map(reader.reads, (question, chunk.text))) < READS_ENOUGH:
        return ""
    above = HEADING_SEPARATOR.join(chunk.heading)
    head = next((line for line in chunk.text.split("\n") if line.startswith("|")), "")
    passages = [f"{above}\n{head if each.startswith('|') else ''}\n{each}" for each in said]
    try:
        opinions = reader.score(question, passages, deadline=None)
    except ProviderError:
        return ""
    return said[opinions.index(max(opinions))]
