"""Answers of several memories ─▶ one answer: the memory that was asked, and those searched with it.

Scores and probabilities of the calibrated fusion are absolute, so hits of different memories can be
compared. Of equally good hits the own come first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import RecollectError
from recollect.search.options import CALIBRATED
from recollect.search.select import LEAST_UNSURE, is_tail
from recollect.types import Results, SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recollect.reports import Report
    from recollect.types import Hit, Query

_EQUALLY_GOOD = 2  # digits of scores: what differs less is no better


def joined(
    own: Results,
    others: Mapping[str, Results | RecollectError],
    *,
    query: Query,
    floor: float | None,
) -> Results:
    """Return the answer of all memories; `floor` is the least score that was asked for."""
    answers = {"": own, **{at: each for at, each in others.items() if isinstance(each, Results)}}
    is_sure = any(each.confident for each in answers.values())
    # A guess without the words or quotes of the question is none if another memory has them.
    guesses = {at for at, each in answers.items() if is_sure and not each.confidence}
    hits = [
        _placed(hit, at or ".") if at or _looks_outside(hit) else hit
        for at, each in answers.items()
        if at not in guesses
        for hit in each.hits
        if not (at and hit.source is SourceKind.AGENTS)  # the own have those of the user
    ]
    hits = sorted(_once(hits), key=lambda hit: -round(hit.score, _EQUALLY_GOOD))
    if hits and floor is None and not query.tail and own.fusion == CALIBRATED:
        far = is_tail(np.array([hit.score for hit in hits]))
        kept = [hit for hit, is_far in zip(hits, far, strict=True) if not is_far]
        hits = kept if is_sure or len(kept) >= LEAST_UNSURE else hits[:LEAST_UNSURE]
    degraded = {
        leg: why if not at else replace(why, reason=f"{at}: {why.reason}")
        for at, each in reversed(answers.items())
        for leg, why in (each.degraded or {}).items()
    }
    return replace(
        own,
        hits=tuple(hits[: query.max_results]),
        confident=is_sure,
        confidence=max(each.confidence for each in answers.values()),
        took_ms=sum(each.took_ms for each in answers.values()),
        searched=sum(each.searched for each in answers.values()),
        terms=frozenset().union(*(each.terms for each in answers.values())),
        degraded=degraded or None,
        notices=tuple(notices_of({"": own, **others}, has_hits=bool(hits))),
    )


def notices_of(
    answers: Mapping[str, Results | Report | RecollectError], *, has_hits: bool = False
) -> Iterator[str]:
    """Yield what memories tell, each sentence after the name of its memory, and which failed."""
    for at, each in answers.items():
        if isinstance(each, RecollectError):
            yield f"{at} was not searched: {each.message} {each.action}"
            continue
        left_out = each.why_empty if has_hits and isinstance(each, Results) else ()
        told = (notice for notice in each.notices if notice not in left_out)
        yield from (f"{at}: {notice}" if at else notice for notice in told)


def _once(hits: list[Hit]) -> Iterator[Hit]:
    """Yield each fact and each text once: the own before that of others."""
    seen: set[str] = set()
    for hit in hits:
        said = hit.fact.id if hit.fact else hit.text
        if said not in seen:
            seen.add(said)
            yield hit


def _looks_outside(hit: Hit) -> bool:
    """Return whether a note of the workspace is in a folder of it that is named `~`."""
    return hit.path.startswith("~") and hit.source is not SourceKind.AGENTS


def _placed(hit: Hit, at: str) -> Hit:
    """Return a hit as it is cited from outside of its memory; "." is what looks like outside."""
    return replace(
        hit,
        path=f"{at}/{hit.path}",
        citation=f"{at}/{hit.citation}",
        also_in=tuple(
            replace(each, path=f"{at}/{each.path}", citation=f"{at}/{each.citation}")
            for each in hit.also_in
        ),
        links=tuple(f"{at}/{each}" for each in hit.links),
        backlinks=tuple(f"{at}/{each}" for each in hit.backlinks),
        memory="" if at == "." else at,
    )
