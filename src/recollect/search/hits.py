"""Turns a ranking into hits: what overlaps or repeats becomes one, then span, snippet, trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.decay import age_days
from recollect.search.duplicates import COMPARED, Originals
from recollect.search.fuse.base import KEYWORD, VECTOR
from recollect.text.terms import terms
from recollect.types import Hit, LegTrace, Repeat, Trace

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    import numpy as np
    import numpy.typing as npt

    from recollect.search.legs import Evidence
    from recollect.search.rank import Ranking
    from recollect.stores.base import Loaded
    from recollect.types import Chunk, Leg

MAX_SNIPPET_CHARS = 700
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Span:
    """A ranked chunk, with the lines of lower-ranked chunks that overlap it."""

    row: int
    start_line: int
    end_line: int
    also_in: tuple[Repeat, ...] = ()
    """Where lower-ranked chunks say the same."""


def cut(order: Sequence[int], *, loaded: Loaded, max_results: int) -> list[Span]:
    """Return the best spans; a chunk that overlaps or repeats a better one takes no place.

    A chunk that shares lines with a better one widens it. Only the better chunk's own lines attract
    others, so a chain of overlaps cannot swallow a file. A chunk that says nothing but what a
    better one says is listed with it.
    """
    kept: list[Span] = []
    hosts: dict[int, int] = {}
    originals = Originals()
    shown: dict[str, list[int]] = {}  # the places in `kept` of each path
    for rank, row in enumerate(order):
        has_room = len(kept) < max_results
        path = loaded.paths[row]
        is_compared = (has_room or rank < COMPARED) and originals.may_hold(loaded.texts[row])
        same_path = shown.get(path, ())
        host = next((at for at in same_path if _overlap(kept[at].row, row, loaded=loaded)), None)
        if not has_room and not is_compared and host is None:
            continue
        chunk = loaded.chunks[row]
        original = originals.repeated_by(chunk) if is_compared else None
        if host is not None:
            kept[host] = _widened(kept[host], chunk)
        elif original is not None:
            span = kept[hosts[original]]
            kept[hosts[original]] = replace(span, also_in=_listed(span.also_in, chunk))
            continue
        elif has_room:
            host = len(kept)
            shown.setdefault(path, []).append(host)
            kept.append(Span(row, chunk.start_line, chunk.end_line))
        else:
            continue
        hosts[row] = host
        originals.add(row, chunk)
    return kept


def _widened(span: Span, chunk: Chunk) -> Span:
    return replace(
        span,
        start_line=min(span.start_line, chunk.start_line),
        end_line=max(span.end_line, chunk.end_line),
    )


def _listed(repeats: tuple[Repeat, ...], chunk: Chunk) -> tuple[Repeat, ...]:
    """Return the repeats with a chunk's lines, which widen lines of the same file."""
    start, end = chunk.start_line, chunk.end_line
    for at, each in enumerate(repeats):
        if each.path == chunk.path and each.start_line <= end and start <= each.end_line:
            wider = _repeat(chunk.path, min(start, each.start_line), max(end, each.end_line))
            return (*repeats[:at], wider, *repeats[at + 1 :])
    return (*repeats, _repeat(chunk.path, start, end))


def _repeat(path: str, start_line: int, end_line: int) -> Repeat:
    return Repeat(path, start_line, end_line, citation(path, start_line, end_line))


def _overlap(better: int, other: int, *, loaded: Loaded) -> bool:
    """Return whether chunks of one path share lines."""
    return (
        loaded.sources[better] is loaded.sources[other]
        and loaded.start_lines[better] <= loaded.end_lines[other]
        and loaded.start_lines[other] <= loaded.end_lines[better]
    )


def make_hits(
    spans: Sequence[Span], *, evidence: Evidence, ranking: Ranking, today: date, explain: bool
) -> tuple[Hit, ...]:
    """Return the hits for spans in their final order."""
    ranks = {name: leg.ranks for name, leg in evidence.legs.items()} if explain else {}
    return tuple(
        _make_hit(
            span,
            evidence=evidence,
            ranking=ranking,
            trace=_make_trace(
                span.row, place=place, ranks=ranks, evidence=evidence, ranking=ranking, today=today
            )
            if explain
            else None,
        )
        for place, span in enumerate(spans, start=1)
    )


def _make_hit(span: Span, *, evidence: Evidence, ranking: Ranking, trace: Trace | None) -> Hit:
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
        also_in=span.also_in,
        trace=trace,
        text=chunk.text,
    )


def _make_trace(  # noqa: PLR0913 - what an explanation names
    row: int,
    *,
    place: int,
    ranks: Mapping[Leg, npt.NDArray[np.int64]],
    evidence: Evidence,
    ranking: Ranking,
    today: date,
) -> Trace:
    """Return why this score: legs, source, exactness, age and rerank add up to it."""
    fused = ranking.fused
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
    return Trace(
        legs=legs,
        source=float(ranking.weighed[row] - fused.scores[row]),
        exact=float(ranking.lifted[row] - ranking.weighed[row]),
        decay=float(ranking.aged[row] - ranking.lifted[row]),
        rerank=float(ranking.scores[row] - ranking.aged[row]),
        age_days=age_days(evidence.loaded.days[row], today=today),
        similarity=ranking.similarities.get(row),
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
