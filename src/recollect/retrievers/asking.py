"""What every framework is handed of an answer: passages with where they stand, and trouble aloud.

It knows no framework. Trouble is logged as a warning, because an answer without passages has no
other place for it, and stands in the metadata of each passage.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from recollect.memory import Memory
    from recollect.types import Degradation, Hit, Results

LOG = logging.getLogger("recollect.retrievers")


class Narrowed(TypedDict, total=False):
    """What narrows every question of one retriever, by the names of `Memory.search`."""

    max_results: int | None
    min_score: float | None
    source: str | None
    since: date | None
    before: date | None
    path: str | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A hit as frameworks know one: a text, a score and flat metadata."""

    id: str
    """The same for the same lines of the same memory, and another for another memory's."""
    text: str
    score: float
    metadata: Mapping[str, str | float | bool | None]


def ask(memory: Memory, question: str, *, narrowed: Narrowed) -> list[Passage]:
    """Return what memory holds on a question, best first; log what is wrong with the answer.

    Raises:
        QueryError: the question is empty or what narrows it is out of range.
        StoreError: the index cannot be read.

    """
    results = memory.search(question, **narrowed)
    for part, why in (results.degraded or {}).items():
        LOG.warning("Degraded: %s", _sentence(part, why))
    for notice in results.notices:
        LOG.warning("%s", notice)
    return [_passage(hit, results=results, agent=memory.agent) for hit in results.hits]


def _passage(hit: Hit, *, results: Results, agent: str) -> Passage:
    name = f"{agent}:{hit.citation}"
    optional = {
        "speaker": hit.speaker,
        "time": hit.moment,
        "fact": hit.fact.id if hit.fact else None,
        "superseded_by": hit.superseded_by,
    }
    metadata: dict[str, str | float | bool | None] = {
        "id": name,
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "citation": hit.citation,
        "score": hit.score,
        "source": hit.source.value,
        "heading": HEADING_SEPARATOR.join(hit.heading),
        "date": hit.date.isoformat() if hit.date else None,
        "confident": results.confident,
        "degraded": _degraded(results),
        **{key: value for key, value in optional.items() if value is not None},
    }
    return Passage(id=name, text=hit.text, score=hit.score, metadata=metadata)


def _degraded(results: Results) -> str | None:
    sentences = [_sentence(part, why) for part, why in (results.degraded or {}).items()]
    return " ".join(sentences) or None


def _sentence(part: str, why: Degradation) -> str:
    return f"{part}: {why.reason} {why.action}"
