"""Ageing, by the half-life table."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from recollect.search.factors import decay_factor
from recollect.search.options import DecayOptions

TODAY = date(2026, 6, 1)
ON = DecayOptions(enabled=True)


@pytest.mark.parametrize(("age", "left"), [(0, 1.0), (7, 0.84), (30, 0.5), (39, 0.406)])
def test_half_is_left_after_thirty_days(age: int, left: float) -> None:
    factor = decay_factor(TODAY - timedelta(days=age), today=TODAY, options=ON)

    assert left == pytest.approx(factor, abs=0.011)


def test_an_old_note_keeps_the_floor() -> None:
    assert 0.4 == decay_factor(date(2000, 1, 1), today=TODAY, options=DecayOptions(enabled=True))


def test_evergreen_notes_do_not_age() -> None:
    assert 1.0 == decay_factor(None, today=TODAY, options=ON)


def test_the_future_is_not_a_bonus() -> None:
    assert 1.0 == decay_factor(TODAY + timedelta(days=9), today=TODAY, options=ON)


def test_nothing_ages_unless_it_is_switched_on() -> None:
    assert 1.0 == decay_factor(date(2000, 1, 1), today=TODAY, options=DecayOptions())
