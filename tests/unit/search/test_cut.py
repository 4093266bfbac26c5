"""Overlapping chunks become one hit."""

from __future__ import annotations

from tests.unit.search.spans import spans_of

from recollect.search.select import Span
from recollect.types import Chunk, SourceKind


def chunk(start: int, end: int, path: str = "memory/a.md") -> Chunk:
    return Chunk(path, SourceKind.MEMORY, start, end, f"text {path} {start}")


def test_an_overlapping_chunk_widens_the_better_one_and_takes_no_place() -> None:
    chunks = [chunk(1, 10), chunk(8, 20), chunk(30, 40)]

    assert [Span(0, 1, 20), Span(2, 30, 40)] == spans_of(chunks, order=[0, 1, 2], max_results=2)


def test_a_chain_of_overlaps_does_not_swallow_the_file() -> None:
    chunks = [chunk(1, 10), chunk(8, 20), chunk(18, 30)]

    assert [Span(0, 1, 20), Span(2, 18, 30)] == spans_of(chunks, order=[0, 1, 2], max_results=6)


def test_equal_lines_of_other_files_stay_apart() -> None:
    chunks = [chunk(1, 10), chunk(1, 10, "memory/b.md")]

    assert 2 == len(spans_of(chunks, order=[0, 1], max_results=6))


def test_no_more_than_asked_for() -> None:
    chunks = [chunk(10 * number, 10 * number + 5) for number in range(9)]

    assert [4, 2] == [span.row for span in spans_of(chunks, order=[4, 2, 7], max_results=2)]
