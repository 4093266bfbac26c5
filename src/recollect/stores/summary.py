"""Records that every store derives from chunks in one way."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from recollect.reports import Amount, Amounts, DaySummary, DocumentSummary
from recollect.stores.base import Loaded
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import numpy.typing as npt

    from recollect.types import Chunk, ChunkKey, Vector

_MAX_HEADINGS = 6  # listed per document


def summarize(
    path: str,
    *,
    source: SourceKind,
    when: date | None,
    size_bytes: int,
    headings: Sequence[tuple[str, ...]],
) -> DocumentSummary:
    """Summarize a document from the heading paths of its visible chunks, in order."""
    is_titled = source != SourceKind.FACTS and bool(headings[0])
    below = dict.fromkeys(heading[1] for heading in headings if len(heading) > 1)
    return DocumentSummary(
        path=path,
        source=source,
        date=when,
        title=headings[0][0] if is_titled else None,
        headings=tuple(below)[:_MAX_HEADINGS],
        chunks=len(headings),
        size_bytes=size_bytes,
    )


def summarize_days(
    rows: Iterable[tuple[date | None, str, int, int]],
) -> tuple[DaySummary, ...]:
    """Summarize days from rows of day, source, documents and chunks, in their order."""
    found: defaultdict[date | None, dict[str, Amount]] = defaultdict(dict)
    for day, source, documents, chunks in rows:
        found[day][source] = Amount(documents, chunks)
    return tuple(DaySummary(day, Amounts(by_source)) for day, by_source in found.items())


def loaded_of(
    keys: Sequence[ChunkKey],
    chunks: Sequence[Chunk],
    *,
    lengths: Sequence[int],
    counts: npt.NDArray[np.uint8],
    vectors: Sequence[Vector | None],
) -> Loaded:
    """Return chunks with the columns that scoring needs."""
    width = next((len(vector) for vector in vectors if vector is not None), 0)
    nothing = np.zeros(width, dtype=np.float32)
    rows = [nothing if vector is None else vector for vector in vectors]
    return Loaded(
        keys=tuple(keys),
        chunks=chunks,
        paths=[chunk.path for chunk in chunks],
        sources=[chunk.source for chunk in chunks],
        start_lines=[chunk.start_line for chunk in chunks],
        end_lines=[chunk.end_line for chunk in chunks],
        days=[chunk.when for chunk in chunks],
        importance=[chunk.importance for chunk in chunks],
        texts=[chunk.text for chunk in chunks],
        counts=counts,
        lengths=np.array(lengths, dtype=np.int64),
        vectors=np.array(rows, dtype=np.float32).reshape(len(rows), width),
        has_vector=np.array([vector is not None for vector in vectors], dtype=np.bool_),
    )
