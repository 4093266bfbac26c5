"""Turning ranked chunks into hits: span, snippet, citation, trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.search.decay import age_days
from recollect.search.fuse.base import KEYWORD, VECTOR
from recollect.search.snippet import snippet
from recollect.types import Hit, LegTrace, Trace

if TYPE_CHECKING:
    from datetime import date

    from recollect.search.cut import Span
    from recollect.search.legs import Evidence
    from recollect.search.rank import Ranking


def make_hit(span: Span, *, place: int, evidence: Evidence, ranking: Ranking, today: date) -> Hit:
    """Return the hit for one span; `place` is its final 1-based place."""
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
        snippet=snippet(chunk.text, words=evidence.question.terms),
        source=chunk.source,
        citation=citation(chunk.path, span.start_line, span.end_line),
        heading=chunk.heading,
        date=chunk.when,
        speaker=chunk.speaker or None,
        moment=chunk.moment or None,
        fact=chunk.fact,
        trace=make_trace(row, place=place, evidence=evidence, ranking=ranking, today=today),
        text=chunk.text,
    )


def make_trace(row: int, *, place: int, evidence: Evidence, ranking: Ranking, today: date) -> Trace:
    """Return why this score: legs, source, exactness, age, second look, adding up to it."""
    fused = ranking.fused
    legs = {
        name: LegTrace(
            rank=int(leg.ranks[row]),
            raw=float(leg.raw[row]),
            normalised=float(fused.normalised[name][row]),
            contribution=float(fused.contributions[name][row]),
        )
        for name, leg in evidence.legs.items()
        if name in fused.normalised and leg.present[row]
    }
    similarity = next(pick.similarity for pick in ranking.picks if pick.place == row)
    return Trace(
        legs=legs,
        source=float(ranking.weighed[row] - fused.scores[row]),
        exact=float(ranking.lifted[row] - ranking.weighed[row]),
        decay=float(ranking.aged[row] - ranking.lifted[row]),
        rerank=float(ranking.scores[row] - ranking.aged[row]),
        age_days=age_days(evidence.loaded.chunks[row].when, today=today),
        similarity=similarity,
        place=place,
    )


def citation(path: str, start_line: int, end_line: int) -> str:
    """Return `path#L10-L24`, or `path#L10` for a single line."""
    if start_line == end_line:
        return f"{path}#L{start_line}"
    return f"{path}#L{start_line}-L{end_line}"
