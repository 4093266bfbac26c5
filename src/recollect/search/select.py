"""Ranking ─▶ spans: everything that drops, moves or joins rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.confidence import is_confident, likelihood
from recollect.search.duplicates import COMPARED, Originals
from recollect.search.options import CALIBRATED
from recollect.search.rank import best_first
from recollect.search.scores import evidence_of
from recollect.text.terms import terms
from recollect.types import Repeat, SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from recollect.search.options import MmrOptions, RankOptions
    from recollect.search.rank import Ranking
    from recollect.search.scores import Floats
    from recollect.search.weigh import Evidence
    from recollect.types import Chunk

TAIL_SHARE = 0.3
"""Hits with a smaller share of the best hit's evidence are its tail."""
LEAST_UNSURE = 3  # hits of an answer that is not confident: the first alone may be a coincidence
_QUOTA = 0.5  # share of the hits that may be transcripts while comparable notes are left
_COMPARABLE = 0.5  # share of a transcript's score at which a note goes first
_DIVERSIFIED = 100  # nobody reads further, and similarity is quadratic


@dataclass(frozen=True, slots=True)
class Span:
    """A ranked chunk, with the lines of lower-ranked chunks that overlap it."""

    row: int
    start_line: int
    end_line: int
    also_in: tuple[Repeat, ...] = ()
    """Where lower-ranked chunks say the same."""
    similarity: float | None = None
    """Similarity to the spans above it, if hits are diversified."""


def select(ranking: Ranking, evidence: Evidence, *, options: RankOptions) -> list[Span]:
    """Return what is shown, best first."""
    question, loaded, scores = evidence.question, evidence.loaded, ranking.scores
    chunks = loaded.chunks
    floor = options.fusion.min_score
    order = best_first(scores, _above_floor(ranking, floor), loaded=loaded)
    order = keep_quota(order, scores=scores, sources=[each.source for each in chunks])
    similarities: dict[int, float] = {}
    if options.mmr.enabled:
        order, similarities = _varied(order, scores, chunks=chunks, options=options.mmr)
    if not question.query.tail:
        if question.days is not None and question.wants_days:
            holds = question.days.holds
            order = [row for row in order if holds(chunks[row].when)] or order
        # Other fusions than the default do not tell how far one hit is below another.
        if order and options.fusion.fusion == CALIBRATED and floor is None:
            order = _without_tail(order, ranking=ranking, evidence=evidence)
    spans = cut(order, chunks=chunks, max_results=question.query.max_results)
    return [replace(each, similarity=similarities.get(each.row)) for each in spans]


def _above_floor(ranking: Ranking, floor: float | None) -> npt.NDArray[np.bool_]:
    """Return what is shown: a floor of the user's takes the place of the fusion's.

    It is decided before decay: old is not irrelevant.
    """
    if floor is None:
        return ranking.fused.eligible | ranking.is_exact
    is_above = (ranking.stages["exact"] >= floor) | (ranking.scores >= floor)
    return ((ranking.fused.scores > 0) | ranking.is_exact) & is_above


def keep_quota(rows: Sequence[int], *, scores: Floats, sources: Sequence[SourceKind]) -> list[int]:
    """Return the rows with transcripts moved back where they exceed their quota.

    While a note is at least half as good, transcripts may not take more than their share. Every
    prefix keeps to the quota, so the first hits do not change with how many are asked for.
    """
    if SourceKind.SESSIONS not in sources:
        return list(rows)
    talk = [row for row in rows if sources[row] is SourceKind.SESSIONS]
    notes = [row for row in rows if sources[row] is not SourceKind.SESSIONS]
    if not talk or not notes:
        return list(rows)
    rank_of = {row: rank for rank, row in enumerate(rows)}
    kept: list[int] = []
    spoken = 0
    while talk and notes:
        is_full = spoken + 1 > math.ceil(_QUOTA * (len(kept) + 1))
        note_is_good = scores[notes[0]] >= _COMPARABLE * scores[talk[0]]
        if rank_of[notes[0]] < rank_of[talk[0]] or (is_full and note_is_good):
            kept.append(notes.pop(0))
        else:
            kept.append(talk.pop(0))
            spoken += 1
    return [*kept, *talk, *notes]


def _varied(
    rows: list[int], scores: Floats, *, chunks: Sequence[Chunk], options: MmrOptions
) -> tuple[list[int], dict[int, float]]:
    """Return the rows in their new order, and how similar each is to those before it."""
    varied, rest = rows[:_DIVERSIFIED], rows[_DIVERSIFIED:]
    picks = mmr(
        [float(scores[row]) for row in varied],
        words=[frozenset(terms(chunks[row].text)) for row in varied],
        balance=options.balance,
    )
    similarities = {varied[place]: similarity for place, similarity in picks.items()}
    return [*similarities, *rest], similarities


def mmr(
    scores: Sequence[float], *, words: Sequence[frozenset[str]], balance: float
) -> dict[int, float]:
    """Return the places of the input in their new order, each with its similarity to those before.

    Carbonell and Goldstein, "The Use of MMR" (1998): λ·relevance − (1−λ)·max similarity to the
    chosen, with relevance min-max normalised and similarity the Jaccard overlap of terms. Ties keep
    the old order.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    spread = high - low
    relevance = [(score - low) / spread if spread else 1.0 for score in scores]
    nearest = [0.0] * len(scores)
    left = list(range(len(scores)))
    picks: dict[int, float] = {}
    while left:
        best = max(
            left,
            key=lambda place: (
                balance * relevance[place] - (1 - balance) * nearest[place],
                -place,
            ),
        )
        left.remove(best)
        picks[best] = nearest[best]
        for place in left:
            nearest[place] = max(nearest[place], jaccard(words[place], words[best]))
    return picks


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the overlap of two sets of terms: 1 for equal sets, also for two empty ones."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)


def _without_tail(order: list[int], *, ranking: Ranking, evidence: Evidence) -> list[int]:
    """Leave out what is far below the best, but keep a few hits of an answer that is not sure."""
    left_out = is_tail(ranking.scores[order])
    kept = [row for row, is_out in zip(order, left_out, strict=True) if not is_out]
    is_sure = is_confident(likelihood(evidence, ranking), ranking)
    return kept if is_sure or len(kept) >= LEAST_UNSURE else order[:LEAST_UNSURE]


def is_tail(scores: Floats) -> npt.NDArray[np.bool_]:
    """Return which scores are far below the best; exact matches are equally good."""
    evidence = evidence_of(scores)
    far: npt.NDArray[np.bool_] = evidence < TAIL_SHARE * evidence.max()
    return far


def cut(order: Sequence[int], *, chunks: Sequence[Chunk], max_results: int) -> list[Span]:
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
        chunk = chunks[row]
        is_compared = (has_room or rank < COMPARED) and originals.may_hold(chunk.text)
        same_path = shown.get(chunk.path, ())
        host = next((at for at in same_path if _overlap(chunks[kept[at].row], chunk)), None)
        if not has_room and not is_compared and host is None:
            continue
        original = originals.repeated_by(chunk) if is_compared else None
        if host is not None:
            start = min(kept[host].start_line, chunk.start_line)
            end = max(kept[host].end_line, chunk.end_line)
            kept[host] = replace(kept[host], start_line=start, end_line=end)
        elif original is not None:
            span = kept[hosts[original]]
            kept[hosts[original]] = replace(span, also_in=_listed(span.also_in, chunk))
            continue
        elif has_room:
            host = len(kept)
            shown.setdefault(chunk.path, []).append(host)
            kept.append(Span(row, chunk.start_line, chunk.end_line))
        else:
            continue
        hosts[row] = host
        originals.add(row, chunk)
    return kept


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


def _overlap(better: Chunk, other: Chunk) -> bool:
    """Return whether chunks of one path share lines."""
    return (
        better.source is other.source
        and better.start_line <= other.end_line
        and other.start_line <= better.end_line
    )


def citation(path: str, start_line: int, end_line: int) -> str:
    """Return `path#L10-L24`, or `path#L10` for a single line."""
    if start_line == end_line:
        return f"{path}#L{start_line}"
    return f"{path}#L{start_line}-L{end_line}"
