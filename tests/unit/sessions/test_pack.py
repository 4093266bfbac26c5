from __future__ import annotations

from datetime import UTC, datetime

from recollect.sessions.pack import Line, pack
from recollect.sessions.turn import Origin, Speaker

MOMENT = datetime(2026, 2, 1, 10, tzinfo=UTC)


def line(
    number: int,
    *,
    size: int = 9,
    speaker: Speaker = Speaker.USER,
    moment: datetime | None = None,
    origin: Origin = Origin.OWNER,
    generation: int = 0,
) -> Line:
    """Return a line that weighs `size` and the one of its end."""
    return Line(f"{number}".ljust(size, "x"), number, speaker, moment, origin, generation)


def numbers(lines: list[Line], *, limit: int = 30, overlap: int = 0) -> list[list[int]]:
    packed = pack(lines, limit=limit, overlap=overlap)
    return [[each.number for each in passage.lines] for passage in packed]


def test_lines_are_packed_as_long_as_they_fit() -> None:
    # 3 lines of 9 + 1 are 30, the limit; the fourth is one too many.
    assert [[1, 2, 3], [4]] == numbers([line(n) for n in range(1, 5)])
    assert [] == numbers([])


def test_a_full_passage_leads_over_by_whole_lines() -> None:
    assert [[1, 2, 3], [3, 4, 5]] == numbers([line(n) for n in range(1, 6)], overlap=10)
    assert [[1, 2, 3], [4, 5]] == numbers([line(n) for n in range(1, 6)], overlap=9)


def test_the_overlap_leaves_room_for_the_next_line() -> None:
    lines = [line(1), line(2), line(3), line(4, size=24)]

    assert [[1, 2, 3], [4]] == numbers(lines, overlap=10)


def test_a_passage_is_never_repeated_as_a_whole() -> None:
    assert [[1], [2]] == numbers([line(1), line(2, size=19)], limit=25, overlap=25)


def test_a_line_heavier_than_the_limit_stands_alone() -> None:
    assert [[1], [2], [3]] == numbers([line(1), line(2, size=90), line(3)])


def test_no_passage_reaches_across_a_reset() -> None:
    lines = [line(1), line(2, generation=1), line(3, generation=1), line(5, generation=2)]

    assert [[1], [2, 3], [5]] == numbers(lines, overlap=20)


def test_a_passage_tells_who_speaks_and_since_when() -> None:
    (passage,) = pack(
        [
            line(1, speaker=Speaker.ASSISTANT),
            line(2, speaker=Speaker.USER, moment=MOMENT),
        ],
        limit=99,
        overlap=0,
    )

    assert (Speaker.USER, Speaker.ASSISTANT) == passage.speakers
    assert MOMENT == passage.moment


def test_a_passage_is_trusted_like_the_worst_of_its_lines() -> None:
    def origin(*origins: Origin) -> Origin:
        lines = [line(number, origin=each) for number, each in enumerate(origins, 1)]
        return pack(lines, limit=999, overlap=0)[0].origin

    assert Origin.OWNER == origin(Origin.OWNER)
    assert Origin.AGENT == origin(Origin.AGENT, Origin.OWNER)
    assert Origin.SYSTEM == origin(Origin.AGENT, Origin.SYSTEM, Origin.OWNER)
    assert Origin.UNTRUSTED == origin(Origin.UNTRUSTED, Origin.SYSTEM)
