"""Spans ─▶ hits: the texts with their scores, snippets and traces."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.search.factors import age_days
from recollect.search.scores import KEYWORD, VECTOR
from recollect.search.select import citation
from recollect.text.terms import terms
from recollect.types import Hit, LegTrace, Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    import numpy as np
    import numpy.typing as npt

    from recollect.search.rank import Ranking
    from recollect.search.select import Span
    from recollect.search.weigh import Evidence
    from recollect.types import Leg

MAX_SNIPPET_CHARS = 700
_ELLIPSIS = "…"


def make_hits(
    spans: Sequence[Span], *, evidence: Evidence, ranking: Ranking, today: date
) -> tuple[Hit, ...]:
    """Return the hits for spans in their final order, and why each is there."""
    ranks = {name: leg.ranks for name, leg in evidence.legs.items()}
    return tuple(
        replace(
            _make_hit(span, evidence=evidence, ranking=ranking),
            trace=_make_trace(
                span, ranks, evidence=evidence, ranking=ranking, today=today, place=place
            ),
        )
        for place, span in enumerate(spans, start=1)
    )


def _make_hit(span: Span, *, evidence: Evidence, ranking: Ranking) -> Hit:
    row = span.row
    chunk = evidence.loaded.chunks[row]
    keyword = evidence.legs.get(KEYWORD)
    vector = evidence.legs.get(VECTOR)
    return Hit(
        path=chunk.path,
        start_line=span.start_line,
        end_line=span.end_line,
        score=float(ranking.scores[row]),
        vector_score=float(vector.raw[row]) if vector and vector.present[row] else None,
        text_score=float(ranking.fused.normalised[KEYWORD][row])
        if keyword and keyword.present[row]
        else None,
        snippet=snippet(chunk.text, words=evidence.question.words.terms),
        source=chunk.source,
        citation=citation(chunk.path, span.start_line, span.end_line),
        heading=chunk.heading,
        date=chunk.when,
        speaker=chunk.speaker or None,
        moment=chunk.moment or None,
        fact=chunk.fact,
        also_in=span.also_in,
        text=chunk.text,
    )


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


def snippet(text: str, *, words: Collection[str]) -> str:
    """Return at most MAX_SNIPPET_CHARS of a chunk: the run of lines with most of the words."""
    if len(text) <= MAX_SNIPPET_CHARS:
        return text
    lines = text.split("\n")
    if len(lines) == 1:
        return _cut_line(text, words=words)
    wanted = frozenset(words)
    held = [wanted.intersection(terms(line)) for line in lines]
    best_start, best_end, best_count = 0, 0, -1
    for start in range(len(lines)):
        end = _last_that_fits(lines, start)
        count = len(held[start].union(*held[start + 1 : end]))
        if count > best_count:
            best_start, best_end, best_count = start, end, count
    shown = "\n".join(lines[best_start:best_end])
    if len(shown) > MAX_SNIPPET_CHARS:
        return _cut_line(shown, words=words)
    return shown


def _last_that_fits(lines: list[str], start: int) -> int:
    """Return the end of the longest run from a line on that may be shown, at least one line."""
    size = 0
    for end in range(start, len(lines)):
        size += len(lines[end]) + 1
        if size > MAX_SNIPPET_CHARS + 1:
            return max(end, start + 1)
    return len(lines)


def _cut_line(line: str, *, words: Collection[str]) -> str:
    """Return part of one long line, starting a little before the first of the words."""
    folded = line.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    room = MAX_SNIPPET_CHARS - 2 * len(_ELLIPSIS)
    start = max(0, min(min(places, default=0) - room // 4, len(line) - room))
    if start:
        space = line.find(" ", start, start + 40)
        start = space + 1 if space >= 0 else start
    end = min(len(line), start + room)
    if end < len(line):
        space = line.rfind(" ", end - 40, end)
        end = space if space > start else end
    head = _ELLIPSIS if start else ""
    tail = _ELLIPSIS if end < len(line) else ""
    return f"{head}{line[start:end]}{tail}"
