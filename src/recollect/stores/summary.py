"""Records that stores make in one way, from chunks or from rows of their tables."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.reports import Amount, Amounts, DaySummary, DocumentSummary
from recollect.stores.base import Loaded, Missing, Space
from recollect.types import Background, Fingerprint, Known, SourceKind, Stat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import numpy.typing as npt

    from recollect.types import Chunk, ChunkKey, Vector

KNOWN = "SELECT source, path, digest, size_bytes, mtime_ns, recipe, is_settled FROM documents"
"""The query whose rows `known_of` reads."""
SPACES = "SELECT fingerprint, dimensions, mean, deviation, is_published FROM spaces"
"""The query whose rows `spaces_of` reads."""
_MAX_HEADINGS = 6  # listed per document
_SOURCES = {kind.value: kind for kind in SourceKind}


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


def known_of(rows: Iterable[Sequence[Any]]) -> list[Known]:
    """Return the stored states of documents from rows of `KNOWN`: one loop, there are many."""
    return [
        Known(path, _SOURCES[source], digest, Stat(size_bytes, mtime_ns), recipe, bool(is_settled))
        for source, path, digest, size_bytes, mtime_ns, recipe, is_settled in rows
    ]


def spaces_of(rows: Iterable[tuple[Any, ...]]) -> dict[Fingerprint, Space]:
    """Return spaces from rows of `SPACES`, in the order of their names."""
    return {
        Fingerprint.parse(name): Space(
            dimensions, None if mean is None else Background(mean, deviation), bool(is_published)
        )
        for name, dimensions, mean, deviation, is_published in sorted(rows)
    }


def missing_of(rows: Iterable[Sequence[Any]], *, media: bool) -> list[Missing]:
    """Return missing texts from rows of number, digest, prefix, text, path and size in bytes."""
    return [
        Missing(
            digest=digest.hex(),
            text=f"{prefix}\n{text}" if prefix else text,
            path=path if media else "",
            size_bytes=size_bytes if media else 0,
            number=number,
        )
        for number, digest, prefix, text, path, size_bytes in rows
    ]


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
        counts=counts,
        lengths=np.array(lengths, dtype=np.int64),
        vectors=np.array(rows, dtype=np.float32).reshape(len(rows), width),
        has_vector=np.array([vector is not None for vector in vectors], dtype=np.bool_),
    )
