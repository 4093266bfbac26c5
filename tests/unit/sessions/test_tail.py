from __future__ import annotations

from io import BytesIO

import pytest

from recollect.sessions import tail
from recollect.sessions.tail import Mark, TailLine, fits, lines_after, mark_at


def read(content: bytes, mark: Mark = Mark()) -> tuple[list[TailLine], Mark]:  # noqa: B008
    stream = BytesIO(content)
    lines = list(lines_after(stream, mark))
    offset, count = (lines[-1].end, lines[-1].number) if lines else (mark.offset, mark.lines)
    return lines, mark_at(stream, offset=offset, lines=count)


def test_lines_are_numbered_and_know_where_they_end() -> None:
    lines, mark = read(b'{"a":1}\n\n{"b":2}\r\n')

    assert [(1, '{"a":1}\n', 8), (2, "\n", 9), (3, '{"b":2}\r\n', 18)] == lines
    assert (18, 3) == (mark.offset, mark.lines)


def test_only_what_is_new_is_read() -> None:
    before = b'{"a":1}\n{"b":2}\n'
    _, mark = read(before)

    lines, later = read(before + b'{"c":3}\n', mark)

    assert [(3, '{"c":3}\n')] == [(line.number, line.text) for line in lines]
    assert (24, 3) == (later.offset, later.lines)
    assert fits(BytesIO(before + b'{"c":3}\n'), mark)
    assert [] == read(before, mark)[0]


def test_a_line_that_is_still_being_written_is_left_for_later() -> None:
    before = b'{"a":1}\n'
    lines, mark = read(before + b'{"b":')

    assert 1 == len(lines)
    assert [(2, '{"b":2}\n')] == [
        (line.number, line.text) for line in read(before + b'{"b":2}\n', mark)[0]
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_whole_last_line_without_an_end_is_read_once(end: bytes) -> None:
    before = b'{"a":1}\n{"b":2}'
    lines, mark = read(before)

    grown = before + end + b'{"c":3}\n'

    assert [1, 2] == [line.number for line in lines]
    assert fits(BytesIO(before), mark)
    assert fits(BytesIO(grown), mark)
    assert [(3, '{"c":3}\n')] == [(line.number, line.text) for line in read(grown, mark)[0]]


def test_a_last_line_that_was_not_whole_after_all_is_read_anew() -> None:
    _, mark = read(b'{"a":1}')

    assert not fits(BytesIO(b'{"a":1}{"b":2}\n'), mark)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(b"", id="emptied"),
        pytest.param(b'{"a":1}\n', id="cut"),
        pytest.param(b'{"x":1}\n{"b":2}\n{"c":3}\n', id="another beginning"),
        pytest.param(b'{"a":1}\n{"x":2}\n{"c":3}\n', id="another end"),
        pytest.param(b'\n{"a":1}\n{"b":2}\n', id="moved"),
    ],
)
def test_a_file_that_was_cut_or_rewritten_no_longer_fits(changed: bytes) -> None:
    _, mark = read(b'{"a":1}\n{"b":2}\n')

    assert not fits(BytesIO(changed), mark)


def test_the_beginning_fits_any_file() -> None:
    assert fits(BytesIO(b""), Mark())
    assert fits(BytesIO(b"anything"), Mark())


def test_a_large_file_is_told_by_its_ends() -> None:
    content = b"".join(b'{"n":%d}\n' % number for number in range(5000))
    _, mark = read(content)

    assert fits(BytesIO(content + b"{}\n"), mark)
    assert not fits(BytesIO(content.replace(b"2500", b"25000")), mark)


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "MAX_LINE_BYTES", 10)

    lines, mark = read(b'{"a":1}\n{"b":"' + b"x" * 50 + b'"}\n{"c":3}\n')

    assert [(1, '{"a":1}\n'), (2, "…"), (3, '{"c":3}\n')] == [
        (line.number, line.text) for line in lines
    ]
    assert (75, 3) == (mark.offset, mark.lines)


def test_a_line_that_is_too_long_and_not_finished_is_left_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail, "MAX_LINE_BYTES", 10)

    assert [1] == [line.number for line in read(b'{"a":1}\n{"b":"' + b"x" * 50)[0]]


def test_a_byte_order_mark_and_broken_characters_do_no_harm() -> None:
    lines, _ = read(b'\xef\xbb\xbf{"a":"\xff"}\n')

    assert ['{"a":"\ufffd"}\n'] == [line.text for line in lines]
