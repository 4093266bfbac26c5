from __future__ import annotations

from recollect.sessions.project import SpokenLine, pack
from recollect.sessions.transcript import Speaker


def line(number: int, *, size: int = 9, generation: int = 0) -> SpokenLine:
    """Return a line that weighs `size` and the one of its end."""
    text = f"{number}".ljust(size, "x")
    return SpokenLine(text, number, Speaker.USER, None, generation)


def numbers(lines: list[SpokenLine], *, limit: int = 30, overlap: int = 0) -> list[list[int]]:
    packed = pack(lines, limit=limit, overlap=overlap)
    return [[each.number for each in chunk] for chunk in packed]


def test_lines_are_packed_as_long_as_they_fit() -> None:
    # 3 lines of 9 + 1 are 30, the limit; the fourth is one too many.
    assert [[1, 2, 3], [4]] == numbers([line(n) for n in range(1, 5)])
    assert [] == numbers([])


def test_a_full_chunk_leads_over_by_whole_lines() -> None:
    assert [[1, 2, 3], [3, 4, 5]] == numbers([line(n) for n in range(1, 6)], overlap=10)
    assert [[1, 2, 3], [4, 5]] == numbers([line(n) for n in range(1, 6)], overlap=9)


def test_the_overlap_leaves_room_for_the_next_line() -> None:
    lines = [line(1), line(2), line(3), line(4, size=24)]

    assert [[1, 2, 3], [4]] == numbers(lines, overlap=10)


def test_a_chunk_is_never_repeated_as_a_whole() -> None:
    assert [[1], [2]] == numbers([line(1), line(2, size=19)], limit=25, overlap=25)


def test_a_line_heavier_than_the_limit_stands_alone() -> None:
    assert [[1], [2], [3]] == numbers([line(1), line(2, size=90), line(3)])


def test_no_chunk_reaches_across_a_reset() -> None:
    lines = [line(1), line(2, generation=1), line(3, generation=1), line(5, generation=2)]

    assert [[1], [2, 3], [5]] == numbers(lines, overlap=20)
