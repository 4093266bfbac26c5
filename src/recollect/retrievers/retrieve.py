"""What the retrievers of all frameworks share: searching, metadata, and closing the memory.

It knows no framework. Problems with an answer are logged as warnings, because an empty answer has
no other place for them, and are part of each hit's metadata.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from recollect.memory import Memory
from recollect.records import dataclass
from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path
    from types import TracebackType

    from recollect.types import Degradation, Hit, Results

LOG = logging.getLogger("recollect.retrievers")


class SearchArguments(TypedDict, total=False):
    """Arguments of `Memory.search` that a retriever passes with every query."""

    max_results: int | None
    min_score: float | None
    source: str | None
    since: date | str | None
    before: date | str | None
    path: str | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrievedHit:
    """A hit in the form frameworks expect: text, score and flat metadata."""

    id: str
    """Identifies the agent and the lines, so hits of different memories never collide."""
    text: str
    score: float
    metadata: Mapping[str, str | float | bool | None]


class OwnsMemory:
    """Opens a memory and closes it; each framework's retriever is one."""

    if TYPE_CHECKING:
        memory: Memory

    @classmethod
    def open(
        cls,
        workspace: Path | str | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        **arguments: Unpack[SearchArguments],
    ) -> Self:
        """Open the memory of a workspace; closing the retriever closes it.

        Args:
            workspace: as in `Memory.open`.
            settings: override every settings file and variable.
            environ: used instead of the process's environment.
            arguments: apply to every query, as in `Memory.search`.

        Raises:
            WorkspaceError: the folder does not exist.
            ConfigError: a setting is invalid.
            StoreError: the index cannot be used.

        """
        memory = Memory.open(workspace, settings=settings, environ=environ)
        try:
            return cls(memory=memory, **arguments)  # type: ignore[call-arg, misc]  # subclasses take it
        except BaseException:
            memory.close()
            raise

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def retrieve(memory: Memory, query: str, *, arguments: SearchArguments) -> list[RetrievedHit]:
    """Return the hits for a query, best first, and log any problem with the answer.

    Raises:
        QueryError: the query is empty or an argument is out of range.
        StoreError: the index cannot be read.

    """
    results = memory.search(query, **arguments)
    for part, why in (results.degraded or {}).items():
        LOG.warning("Degraded: %s", _sentence(part, why))
    for notice in results.notices:
        LOG.warning("%s", notice)
    return [_retrieved(hit, results=results, agent=memory.agent) for hit in results.hits]


def _retrieved(hit: Hit, *, results: Results, agent: str) -> RetrievedHit:
    name = f"{agent}:{hit.citation}"
    optional = {
        "speaker": hit.speaker,
        "time": hit.moment,
        "fact": hit.fact.id if hit.fact else None,
        "superseded_by": hit.superseded_by,
        "also_in": ", ".join(each.citation for each in hit.also_in) or None,
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
    return RetrievedHit(id=name, text=hit.text, score=hit.score, metadata=metadata)


def _degraded(results: Results) -> str | None:
    sentences = [_sentence(part, why) for part, why in (results.degraded or {}).items()]
    return " ".join(sentences) or None


def _sentence(part: str, why: Degradation) -> str:
    return f"{part}: {why.reason} {why.action}"
