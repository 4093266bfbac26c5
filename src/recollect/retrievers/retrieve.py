"""What the retrievers of all frameworks share: searching, metadata, and closing the memory.

It knows no framework. Problems with an answer are logged as warnings, because an empty answer has
no other place for them, and are part of each hit's metadata.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from recollect.memory import Memory
from recollect.search.select import is_tail
from recollect.types import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.types import Hit, SearchRequest

    Metadata = str | float | bool | None

LOG = logging.getLogger("recollect.retrievers")


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
        **arguments: Any,  # noqa: ANN401 - the fields of a SearchRequest
    ) -> Self:
        """Open the memory of a workspace, as `Memory.open` does; closing the retriever closes it.

        `arguments` are fields of `SearchRequest` that apply to every query.

        Raises:
            WorkspaceError: the folder does not exist.
            ConfigError: a setting is invalid.
            StoreError: the index cannot be used.

        """
        memory = Memory.open(workspace, settings=settings, environ=environ)
        try:
            return cls(memory=memory, **arguments)  # type: ignore[call-arg]  # subclasses take it
        except BaseException:
            memory.close()
            raise

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def retrieve(memory: Memory, request: SearchRequest) -> list[tuple[Hit, dict[str, Metadata]]]:
    """Return the hits for a request with their metadata, best first; log any problem.

    The metadata's `id` names the agent and the lines, so hits of different memories never collide.

    Raises:
        QueryError: the query is empty or an argument is out of range.
        StoreError: the index cannot be read.

    """
    results = memory.answer(request)
    degraded = [
        f"{leg}: {why.reason} {why.action}" for leg, why in (results.degraded or {}).items()
    ]
    for sentence in degraded:
        LOG.warning("Degraded: %s", sentence)
    for notice in results.notices:
        LOG.warning("%s", notice)
    if not results.hits:
        return []
    weak = is_tail(np.array([hit.score for hit in results.hits])) | (not results.confident)
    told = " ".join(degraded) or None
    return [
        (hit, {**_metadata(hit, agent=memory.agent), "confident": not is_weak, "degraded": told})
        for hit, is_weak in zip(results.hits, weak.tolist(), strict=True)
    ]


def _metadata(hit: Hit, *, agent: str) -> dict[str, Metadata]:
    optional = {
        "speaker": hit.speaker,
        "time": hit.moment,
        "fact": hit.fact.id if hit.fact else None,
        "superseded_by": hit.superseded_by,
        "also_in": ", ".join(each.citation for each in hit.also_in) or None,
    }
    return {
        "id": f"{agent}:{hit.citation}",
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "citation": hit.citation,
        "score": hit.score,
        "source": hit.source.value,
        "heading": HEADING_SEPARATOR.join(hit.heading),
        "date": hit.date.isoformat() if hit.date else None,
        **{key: value for key, value in optional.items() if value is not None},
    }
