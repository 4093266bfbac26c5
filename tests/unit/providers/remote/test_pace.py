"""Keeping to a rate, on a clock of our own."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.support.waiting import PATIENCE_SECONDS

from recollect.providers.remote import pace as pace_module
from recollect.providers.remote.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """Time that passes only where somebody waits, and what happens meanwhile."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.meanwhile: list[Callable[[], None]] = []

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def is_set(self) -> bool:
        return False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def on(clock: Clock, **rates: int) -> Pace:
    pace = Pace(**rates)
    pace._stopped = clock  # type: ignore[assignment]
    return pace


def turns(clock: Clock, pace: Pace, *sizes: int) -> list[float]:
    """Return how long after the first each request of these sizes may go."""
    begun = clock.now
    gone: list[float] = []
    for tokens in sizes:
        assert pace.wait_turn(tokens)
        gone.append(round(clock.now - begun, 6))
    return gone


def test_without_a_rate_nobody_waits(clock: Clock) -> None:
    assert [0.0, 0.0, 0.0] == turns(clock, on(clock), 10, 10_000, 10)


def test_requests_are_spread_over_the_minute(clock: Clock) -> None:
    # 60 s / 20 requests
    assert [0.0, 3.0, 6.0] == turns(clock, on(clock, requests_per_minute=20), 1, 1, 1)


def test_a_large_request_holds_the_next_one_back_for_longer(clock: Clock) -> None:
    # 60 s x 100 / 6000, then 60 s x 600 / 6000
    assert [0.0, 1.0, 7.0] == turns(clock, on(clock, tokens_per_minute=6000), 100, 600, 1)


def test_of_two_rates_the_slower_one_counts(clock: Clock) -> None:
    pace = on(clock, requests_per_minute=30, tokens_per_minute=6000)

    # 60 s / 30 = 2 s against 1 s, then against 6 s
    assert [0.0, 2.0, 8.0] == turns(clock, pace, 100, 600, 1)


def test_time_that_passed_unused_is_not_saved_up(clock: Clock) -> None:
    pace = on(clock, requests_per_minute=20)
    turns(clock, pace, 1)
    clock.now += 600

    assert [0.0, 3.0, 6.0] == turns(clock, pace, 1, 1, 1)


def test_a_pause_holds_everyone(clock: Clock) -> None:
    pace = on(clock)
    pace.hold(30)
    pace.hold(5)

    assert [30.0, 30.0] == turns(clock, pace, 1, 1)


def test_a_pause_holds_those_who_wait_for_their_turn_already(clock: Clock) -> None:
    pace = on(clock, requests_per_minute=20)
    turns(clock, pace, 1)
    clock.meanwhile.append(lambda: pace.hold(40))

    # 3 s for the turn, during which the server asks for 40 s
    assert [43.0, 46.0] == turns(clock, pace, 1, 1)


def test_who_cannot_go_in_time_does_not_wait_and_takes_nobodys_turn(clock: Clock) -> None:
    pace = on(clock, requests_per_minute=20)
    pace.hold(10)
    begun = clock.now

    assert not pace.wait_turn(1, most_seconds=6)
    assert begun == clock.now
    assert [10.0, 13.0] == turns(clock, pace, 1, 1)


def test_a_turn_that_moves_away_meanwhile_is_given_up(clock: Clock) -> None:
    pace = on(clock)
    pace.hold(5)
    clock.meanwhile.append(lambda: pace.hold(60))

    assert not pace.wait_turn(1, most_seconds=6)


def test_stopping_ends_all_waiting() -> None:
    pace = Pace()
    pace.hold(10 * PATIENCE_SECONDS)
    threads = [threading.Thread(target=pace.wait_turn, args=(1,), daemon=True) for _ in range(4)]
    threads.append(threading.Thread(target=pace.wait, args=(10 * PATIENCE_SECONDS,), daemon=True))
    for thread in threads:
        thread.start()
    pace.stop()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert pace.is_stopped
    assert not any(thread.is_alive() for thread in threads)
