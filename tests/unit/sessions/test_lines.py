from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from recollect.sessions import rows as reading
from recollect.sessions.rows import whole_lines

if TYPE_CHECKING:
    import pytest


def read(content: bytes) -> list[tuple[int, str]]:
    return list(whole_lines(BytesIO(content)))


def test_lines_are_numbered() -> None:
    assert [(1, '{"a":1}\n'), (2, "\n"), (3, '{"b":2}\r\n')] == read(b'{"a":1}\n\n{"b":2}\r\n')


def test_a_line_that_is_still_being_written_is_left_for_later() -> None:
    assert [(1, '{"a":1}\n')] == read(b'{"a":1}\n{"b":')


def test_a_whole_last_line_without_an_end_is_read() -> None:
    assert [(1, '{"a":1}\n'), (2, '{"b":2}')] == read(b'{"a":1}\n{"b":2}')


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 10)
    content = b'{"a":1}\n{"b":"' + b"x" * 50 + b'"}\n{"c":3}\n'

    assert [(1, '{"a":1}\n'), (2, "…"), (3, '{"c":3}\n')] == read(content)


def test_a_line_that_is_too_long_and_not_finished_is_left_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 10)

    assert [(1, '{"a":1}\n')] == read(b'{"a":1}\n{"b":"' + b"x" * 50)


def test_a_byte_order_mark_and_broken_characters_do_no_harm() -> None:
    assert [(1, '{"a":"\ufffd"}\n')] == read(b'\xef\xbb\xbf{"a":"\xff"}\n')
