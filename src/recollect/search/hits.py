"""Turns a ranking into hits: overlapping chunks become one, then span, snippet, citation, trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.search.decay import age_days
from recollect.search.fuse.base import KEYWORD, VECTOR
from recollect.text.terms import terms
from recollect.types import Hit, LegTrace, Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from recollect.search.legs import Evidence
    from recollect.search.rank import Ranking
    from recollect.types import Chunk

MAX_SNIPPET_CHARS = 700
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Span:
    """A ranked chunk, with the lines of lower-ranked chunks that overlap it."""

    row: int
    start_line: int
    end_line: int


def cut(order: Sequence[int], *, chunks: Sequence[Chunk], max_results: int) -> list[Span]:
    """Return the best spans; a chunk that shares lines with a better one widens that one.

    Only the better chunk's own lines attract others, so a chain of overlaps cannot swallow a file.
    """
    kept: list[Span] = []
    for row in order:
        chunk = chunks[row]
        host = next(
            (place for place, span in enumerate(kept) if _overlap(chunks[span.row], chunk)), None
        )
        if host is not None:
            span = kept[host]
            kept[host] = Span(
                row=span.row,
                start_line=min(span.start_line, chunk.start_line),
                end_line=max(span.end_line, chunk.end_line),
            )
        elif len(kept) < max_results:
            kept.append(Span(row, chunk.start_line, chunk.end_line))
    return kept


def _overlap(better: Chunk, other: Chunk) -> bool:
    return (
        better.path == other.path
        and better.source == other.source
        and better.start_line <= other.end_line
        and other.start_line <= better.end_line
    )


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
        trace=_make_trace(row, place=place, evidence=evidence, ranking=ranking, today=today),
        text=chunk.text,
    )


def _make_trace(
    row: int, *, place: int, evidence: Evidence, ranking: Ranking, today: date
) -> Trace:
    """Return why this score: legs, source, exactness, age and rerank add up to it."""
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


def snippet(text: str, *, words: Collection[str]) -> str:
    """Return at most MAX_SNIPPET_CHARS of a chunk: the run of lines with most of the words."""
    if len(text) <= MAX_SNIPPET_CHARS:
        return text
    lines = text.split("\n")
    if len(lines) == 1:
        return _cut_line(text, words=words)
    wanted = set(words)
    held = [frozenset(terms(line)) & wanted for line in lines]
    best_start, best_end, best_count = 0, 0, -1
    for start in range(len(lines)):
        end = _last_that_fits(lines, start)
        count = len(frozenset().union(*held[start:end]))
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
