from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.sessions.rows import moment_of, row_of, texts_of


@pytest.mark.parametrize(
    "line", ["", "{", "[]", '"text"', "7", "null", "[" * 100_000, b"\xff{}", '{"a":' * 100_000]
)
def test_a_line_that_holds_no_object_is_no_row(line: str | bytes) -> None:
    assert row_of(line) is None


def test_an_object_is_a_row() -> None:
    assert {"a": 1} == row_of(' {"a": 1}\r\n')


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-02-01T10:00:00.250Z", datetime(2026, 2, 1, 10, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-02-01T10:00:00", datetime(2026, 2, 1, 10, tzinfo=UTC)),
        ("2026-02-01T12:00:00+02:00", datetime(2026, 2, 1, 10, tzinfo=UTC)),
        (1_769_940_000.5, datetime(2026, 2, 1, 10, 0, 0, 500_000, tzinfo=UTC)),
        (99_999_999_999, datetime(5138, 11, 16, 9, 46, 39, tzinfo=UTC)),
        (100_000_000_000, datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)),
        (-1, None),
        (float("nan"), None),
        (float("inf"), None),
        ("0001-01-01T00:00:00+14:00", None),
        ("yesterday", None),
        ([], None),
    ],
)
def test_a_time_stamp_is_seconds_milliseconds_or_iso(
    value: object, expected: datetime | None
) -> None:
    assert expected == moment_of(None, value)


def test_text_is_the_content_itself_or_its_text_blocks() -> None:
    assert ["a"] == texts_of("a")
    assert ["b"] == texts_of([{"type": "text", "text": "b"}, {"type": "text", "text": 1}, "c"])
    assert [] == texts_of({"type": "text", "text": "d"})
