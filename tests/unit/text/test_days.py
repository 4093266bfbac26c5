"""Days that people write."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from recollect.text.days import parse_coming_day, parse_day


def today() -> date:
    """The day now, not the day on which a long run began."""
    return datetime.now(tz=UTC).astimezone().date()


def test_days_are_counted_back_for_a_search_and_ahead_for_an_end() -> None:
    assert today() - timedelta(days=14) == parse_day("2w")
    assert today() + timedelta(days=14) == parse_coming_day("2w")
    assert today() + timedelta(days=90) == parse_coming_day(" 90D ")
    assert today() == parse_coming_day("today")
    assert date(2999, 12, 31) == parse_coming_day("2999-12-31")


@pytest.mark.parametrize(
    "text", ["yesterday", "2020-01-01", "", "soon", "90", "-1d", "9999-12-31", "2027-02-30"]
)
def test_what_is_over_or_no_day_is_not_a_coming_day(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its words are the caller's
        parse_coming_day(text)
