"""Spans of chunks that were ranked in some order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.search.select import Span, cut

if TYPE_CHECKING:
    from recollect.types import Chunk


def spans_of(chunks: list[Chunk], *, order: list[int], max_results: int) -> list[Span]:
    """Return the spans of chunks that were ranked in this order."""
    return cut(order, chunks=chunks, max_results=max_results)
