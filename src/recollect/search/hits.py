"""Spans ─▶ hits: the texts with their scores, excerpts and traces."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.search.factors import age_days
from recollect.search.scores import KEYWORD, VECTOR
from recollect.search.select import citation
from recollect.text.excerpt import excerpt, without_headings
from recollect.types import Hit, LegTrace, SourceKind, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    import numpy as np
    import numpy.typing as npt

    from recollect.search.rank import Ranking
    from recollect.search.select import Span
    from recollect.search.weigh import Evidence
    from recollect.types import Leg

MAX_SNIPPET_CHARS = 700
_COMPACT_CHARS = 120


def make_hits(
    spans: Sequence[Span],
    said: Iterable[tuple[str, str]],
    *,
    evidence: Evidence,
    ranking: Ranking,
    today: date,
) -> tuple[Hit, ...]:
    """Return the hits for spans in their final order, and why each is there."""
    ranks = {name: leg.ranks for name, leg in evidence.legs.items()}
    traces = (
        _make_trace(span, ranks, evidence=evidence, ranking=ranking, today=today, place=place)
        for place, span in enumerate(spans, start=1)
    )
    hits = (
        _make_hit(span, text, sentence, evidence=evidence, ranking=ranking)
        for span, (text, sentence) in zip(spans, said, strict=True)
    )
    return tuple(replace(hit, trace=trace) for hit, trace in zip(hits, traces, strict=True))


def _make_hit(span: Span, text: str, sentence: str, *, evidence: Evidence, ranking: Ranking) -> Hit:
    row = span.row
    chunk = evidence.loaded.chunks[row]
    keyword = evidence.legs.get(KEYWORD)
    vector = evidence.legs.get(VECTOR)
    start_line = span.start_line if text == chunk.text else 1  # front matter is at the top
    is_fact = chunk.source is SourceKind.FACTS
    return Hit(
        path=chunk.path,
        start_line=start_line,
        end_line=span.end_line,
        score=float(ranking.scores[row]),
        vector_score=float(vector.raw[row]) if vector and vector.present[row] else None,
        text_score=float(ranking.fused.normalised[KEYWORD][row])
        if keyword and keyword.present[row]
        else None,
        snippet=excerpt(text, sentence=sentence, most_chars=MAX_SNIPPET_CHARS),
        source=chunk.source,
        citation=citation(chunk.path, start_line, span.end_line),
        heading=chunk.heading,
        date=chunk.when,
        speaker=chunk.speaker or None,
        moment=chunk.moment or None,
        fact=chunk.fact if is_fact else None,
        valid_until=chunk.fact.until if chunk.fact and not is_fact else None,
        also_in=span.also_in,
        text=text,
        sentence=sentence,
    )


def compacted(hit: Hit) -> Hit:
    """Return a hit that takes about 50 tokens: its best sentence, or the first words of it."""
    says = " ".join((hit.sentence or without_headings(hit.snippet, hit.heading)).split())
    short = says if len(says) <= _COMPACT_CHARS else f"{says[: _COMPACT_CHARS - 1].rstrip()}…"
    return replace(hit, snippet=short, text=short, sentence=short)


def _make_trace(  # noqa: PLR0913 - what a score is made of
    span: Span,
    ranks: Mapping[Leg, npt.NDArray[np.int64]],
    *,
    evidence: Evidence,
    ranking: Ranking,
    today: date,
    place: int,
) -> Trace:
    """Return why this score: legs, source, exactness, age and rerank add up to it."""
    row, fused = span.row, ranking.fused
    legs = {
        name: LegTrace(
            rank=int(ranks[name][row]),
            raw=float(leg.raw[row]),
            normalised=float(fused.normalised[name][row]),
            contribution=float(fused.contributions[name][row]),
        )
        for name, leg in evidence.legs.items()
        if name in fused.normalised and leg.present[row]
    }
    after = [float(scores[row]) for scores in (fused.scores, *ranking.stages.values())]
    source, exact, decay, rerank = (end - start for start, end in pairwise(after))
    age = age_days(evidence.loaded.chunks[row].when, today=today)
    return Trace(
        legs, source, exact, decay, rerank, similarity=span.similarity, age_days=age, place=place
    )
