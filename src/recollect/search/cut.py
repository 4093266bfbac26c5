"""From a ranking to what is shown: overlapping chunks become one hit, then the count is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.types import Chunk


@dataclass(frozen=True, slots=True)
class Span:
    """A ranked chunk with the lines of lower-ranked chunks that overlap it."""

    row: int
    start_line: int
    end_line: int


def cut(order: Sequence[int], *, chunks: Sequence[Chunk], max_results: int) -> list[Span]:
    """Return the best spans; a chunk that shares lines with a better one widens that one.

    Only the better chunk's own lines attract others, so a chain of overlaps cannot swallow a file.
    """
    kept: list[Span] = []
    for row in order:
        chunk = chunks[row]
        host = next(
            (place for place, span in enumerate(kept) if _overlap(chunks[span.row], chunk)), None
        )
        if host is not None:
            span = kept[host]
            kept[host] = Span(
                row=span.row,
                start_line=min(span.start_line, chunk.start_line),
                end_line=max(span.end_line, chunk.end_line),
            )
        elif len(kept) < max_results:
            kept.append(Span(row, chunk.start_line, chunk.end_line))
    return kept


def _overlap(better: Chunk, other: Chunk) -> bool:
    return (
        better.path == other.path
        and better.source == other.source
        and better.start_line <= other.end_line
        and other.start_line <= better.end_line
    )
