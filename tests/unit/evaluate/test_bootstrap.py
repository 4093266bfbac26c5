"""Intervals of means: their arithmetic where it is known, their width where it is not."""

from __future__ import annotations

import math

import pytest

from recollect.evaluate.metrics import Interval, difference_interval, mean_interval


def test_a_single_value_or_equal_values_have_no_width() -> None:
    assert Interval(0.25, 0.25, 0.25) == mean_interval([0.25])
    assert Interval(0.5, 0.5, 0.5) == mean_interval([0.5] * 30)


def test_the_interval_of_a_share_is_about_that_of_the_normal_approximation() -> None:
    interval = mean_interval([1.0] * 60 + [0.0] * 40)

    half = 1.96 * math.sqrt(0.6 * 0.4 / 100)  # 0.096
    assert 0.6 == interval.mean
    assert (0.6 - half, 0.6 + half) == pytest.approx((interval.low, interval.high), abs=0.015)


def test_the_same_values_and_seed_give_the_same_interval() -> None:
    values = [0.1, 0.4, 0.9, 1.0, 0.0]

    assert mean_interval(values) == mean_interval(values)
    assert mean_interval(values) != mean_interval(values, seed=1)


def test_a_paired_difference_is_narrow_where_the_two_means_are_wide() -> None:
    base = [0.0, 1.0] * 20
    better = [value * 0.9 + 0.1 for value in base]  # +0.1 or +0.0, each twenty times

    gain = difference_interval(better, base)

    assert 0.05 == pytest.approx(gain.mean)
    assert 0 < gain.low < gain.high < 0.1
    assert mean_interval(base).high - mean_interval(base).low > 5 * (gain.high - gain.low)


def test_many_values_are_drawn_in_blocks() -> None:
    interval = mean_interval([0.0, 1.0] * 5000)

    half = 1.96 * math.sqrt(0.25 / 10_000)  # 0.0098
    assert (0.5 - half, 0.5 + half) == pytest.approx((interval.low, interval.high), abs=0.002)
