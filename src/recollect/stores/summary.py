"""One document's line in the overview, which every store derives from its chunks' headings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.reports import DocumentSummary
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

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
